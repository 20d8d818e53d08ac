/*
 * The proof rule: a lease belongs to a term. Every lease begins with the sending of a transaction that raised a version, and that the servers
 * carried out because the record still named its sender, or by which it did. A candidate is a pair of nodes, its own node and its
 * heartbeat node. One transaction creates both, and they are never made again. Only leaders send proofs. A proof is check(own node),
 * set(heartbeat node) and check(record), at the version by which its sender leads. A lease begins with the sending of a proof or of a
 * claim, which contains one, and with nothing else. Another candidate takes a term over by deleting the leader's heartbeat node at a
 * version that stood still for the delay. A stranger, which is no candidate, writes into the record what no candidate can read. A
 * candidate empties such a record first: by what it can't read, a candidate of another release may lead.
 * `npm run model` searches all states. README.md has the argument, and says what the model leaves out.
 *
 * The servers carry a request out at any time after its sending, or never. Between any two steps of one process the other processes
 * may take any number of steps, and time may pass. A slow network and a suspended process look like that, too. The delay is exactly
 * the lease, because there is one clock, which needs no margin.
 *
 * Three simplifications keep the model small:
 * - A committed proof or claim gives its lease at once. A reply that comes later, or never, gives less.
 * - No version has a number. A request that names an old version is refused, whichever old version that is. So whatever depends on a
 *   version is dropped as soon as the version is old: observations, claims, proofs and reads of the record.
 * - Therefore an answer shows what is so when it arrives, with one exception: an old answer that the record names a candidate
 *   makes that candidate lead.
 */

/* The number of candidates: two or three. */
#ifndef CANDIDATES
#define CANDIDATES 2
#endif
#define N CANDIDATES

/* The most that happens in one execution. ANY: no bound. */
#define ANY 9
#ifndef FAULTS
#define FAULTS ANY /* sessions that end, nodes that a stranger deletes, and processes that die */
#endif
#ifndef AGAIN
#define AGAIN ANY /* candidates that join again, after a term or after the loss of their nodes */
#endif
#ifndef STRANGERS
#define STRANGERS 1 /* writes of the record that no candidate can read */
#endif

/* The number of proofs of one candidate that may be under way, besides its claim. */
#ifndef BEATS
#define BEATS 1
#endif

/*
 * Whether a candidate that doesn't know yet that the record names it sends a proof, at the version that it expects. If the record has that
 * version by then, but names another candidate, the servers carry the proof out. No lease begins with it.
 */
#ifndef GUESSES
#define GUESSES 0
#endif

/* The length of a lease, in ticks. With UNEQUAL that of the first candidate, which is the longest. */
#ifndef LEASE
#define LEASE 2
#endif
#ifdef OWN_DELAY
#define UNEQUAL
#endif
#ifdef UNEQUAL
#define leaseOf(i) ((i) == 1 -> LEASE : 1)
#else
#define leaseOf(i) LEASE
#endif
#ifdef SHORT_DELAY
#define DELAY(i) (leaseOf(i) - 1)
#else
#define DELAY(i) leaseOf(i)
#endif
/* An empty record doesn't say how long the lease of the leader before it is. */
#ifdef OWN_DELAY
#define DELAY_OF_EMPTY leaseOf(me)
#else
#define DELAY_OF_EMPTY DELAY(1)
#endif

/* The first candidate is of a newer release: the others can't read what it writes into the record. */
#ifdef NEVER_EMPTIED
#define NEWER
#endif

/*
 * The promises. Each must hold wherever the model asserts it. If a variant serves to break one promise, its search looks for that
 * promise alone.
 */
#define ONE_ACTS 1       /* two candidates never act at once */
#define TERM_IS_NEWEST 2 /* a leader acts only while the record names it, or while the record is a stranger's or empty */
#define LEASE_IS_OVER 3  /* a term that wasn't released is followed by another one only after its leader's lease */
#define FENCED 4         /* a guarded write is carried out only while the record is that of its writer's term */
#ifdef ONLY
#define promise(which, what) assert((which) != ONLY || (what))
#else
#define promise(which, what) assert(what)
#endif

/* The states of a candidate. */
#define WAITS 0 /* also while its claim is under way */
#define NAMED 1 /* the answer that the record names it is under way. It may be old when it arrives. */
#define LEADS 2
#define GIVES 3 /* its work has settled, and its release is under way. If the release gets no answer, it is sent again. */
#define DEAD 4
#define DONE 5

/* What a candidate has observed of the holder of the record, or of the record. 0: nothing that counts. */
#define VERSION 1 /* the newest version of the holder's heartbeat node */
#define GONE 2    /* that the holder's own node is gone, or that the record is empty */
#define ASKED 3   /* the answer isn't there; used only where the delay counts from the sending */
#define OLD 4     /* a version that is old; used only where such a version matters */

/* The record. */
bool held;
byte holder;   /* the candidate that the record names; 0 if its nodes are gone and it has joined again, or if there is none */
bool strange;  /* the record is a stranger's: no candidate can read it */
bool emptied;  /* a candidate has emptied the record: it counts as held by a holder that is gone */
#ifdef NEWER
bool foreign;  /* the first candidate has written the record */
#define setForeign(what) foreign = what
#define canRead(i) (!strange && (!foreign || i == 1))
#else
#define setForeign(what) skip
#define canRead(i) (!strange)
#endif

/* The candidates, from 1 on. Holder 0 has no nodes. */
byte does[N + 1];
bool newest[N + 1]; /* the record is at the version by which the candidate leads, or is about to lead */
bool own[N + 1];    /* the candidate's own node exists */
bool beats[N + 1];  /* the candidate's heartbeat node exists */
byte lease[N + 1];  /* the number of ticks for which the candidate may act if it leads */
byte claim[N + 1];  /* 1 + the ticks of the lease that the claim under way would give; 0: no claim is under way */
byte look[N + 1];   /* what the candidate has observed */
byte left[N + 1];   /* the ticks of the delay that are left since then */
bool writes[N + 1]; /* a guarded write of the candidate is under way */
byte proof[BEATS * N + 1]; /* the ticks of the lease that the proof would give; 0: no proof is under way. Candidate i's second proof has the index N + i. */
#if GUESSES
bool ahead[BEATS * N + 1]; /* the proof names the version that the record has after its next write */
#define isDue(slot) (!ahead[slot])
#define setAhead(slot, what) ahead[slot] = what
#else
#define isDue(slot) true
#define setAhead(slot, what) skip
#endif

byte faults = FAULTS, again = AGAIN, strangers = STRANGERS;
bool calm;     /* no more faults happen */
hidden byte w; /* used only within a step */
#define useUp(what) what = (what == ANY -> ANY : what - 1)

/* State that only variants need. */
#ifdef MADE_AGAIN
bool raised[N + 1]; /* the heartbeat node has another version than its first one, which comes again if the node is made again */
#define setRaised(i, what) raised[i] = what
#define mayComeAgain(i) (!raised[i])
#else
#define setRaised(i, what) skip
#define mayComeAgain(i) false
#endif
#if defined(PLAIN_PROOF) || defined(PLAIN_LOOK)
bool plain[BEATS * N + 1]; /* the proof is a mere check, which raises no version */
#define isPlain(slot) plain[slot]
#define setPlain(slot, what) plain[slot] = what
#else
#define isPlain(slot) false
#define setPlain(slot, what) skip
#endif
/* Which proofs check no record: the servers carry them out whatever it says. */
#ifdef WAITING_COUNTS
bool loose[BEATS * N + 1]; /* the proof is that of a candidate that waits */
#define isLoose(slot) loose[slot]
#define setLoose(slot, what) loose[slot] = what
#else
#if defined(NODES_ALONE)
#define isLoose(slot) true
#elif defined(PLAIN_LOOK)
#define isLoose(slot) plain[slot]
#else
#define isLoose(slot) false
#endif
#define setLoose(slot, what) skip
#endif
#ifdef TAKEN_UP
bool stray[N + 1]; /* a release is under way, though its sender does something else by now */
#endif
#ifdef CREATION_COUNTS
#define LEASE_OF_CREATION(i) leaseOf(i)
#else
#define LEASE_OF_CREATION(i) 0
#endif

/* A candidate acts while it leads and its lease lasts: it asks the lease before every act. */
#define acts(i) (does[i] == LEADS && lease[i] > 0)
#define mayAct(i) ((does[i] == LEADS || does[i] == NAMED || holder == (i)) && does[i] <= LEADS && lease[i] > 0)
#define isNewest(i) (!acts(i) || newest[i] || strange || emptied)
#if N == 2
#define oneActs (!(acts(1) && acts(2)))
#define areNewest (isNewest(1) && isNewest(2))
#define nobodyMayAct (!mayAct(1) && !mayAct(2))
#else
#define oneActs (!(acts(1) && acts(2)) && !(acts(1) && acts(3)) && !(acts(2) && acts(3)))
#define areNewest (isNewest(1) && isNewest(2) && isNewest(3))
#define nobodyMayAct (!mayAct(1) && !mayAct(2) && !mayAct(3))
#endif
inline checkActs()
{
	promise(ONE_ACTS, oneActs);
	promise(TERM_IS_NEWEST, areNewest)
}

/* A term is taken over: the record's holder is observed, and not gone. */
#define takesOver(i) (held && look[i] == VERSION)

#ifdef GONE_FROM_VERSION
#define outdated OLD
#else
#define outdated 0
#endif

/* The holder's heartbeat node has a newer version, or a node is gone. What others have observed leads to no claim that is carried out. */
inline outdate(node)
{
	for (w : 1 .. N) {
		if
		:: w != node && holder == node && look[w] == VERSION ->
			claim[w] = 0;
			look[w] = outdated;
			left[w] = (outdated == 0 -> 0 : left[w])
		:: else
		fi
	}
	w = 0
}
inline raise(i)
{
#ifndef ANY_VERSION
	outdate(i);
#endif
	setRaised(i, true)
}

inline removeNodes(i)
{
	if
	:: mayComeAgain(i)
	:: else -> outdate(i)
	fi;
	own[i] = false;
	beats[i] = false
}

/* No proof is under way any more. */
inline forgetProof(slot)
{
	proof[slot] = 0;
	setAhead(slot, false);
	setLoose(slot, false);
	setPlain(slot, false)
}

/*
 * The servers write the record. They refuse what others have sent for the former record: claims, proofs and releases. What was observed of
 * its holder is of no use any more.
 */
inline writeRecord(next, isStrange, isEmpty)
{
	held = (next != 0 || isStrange || isEmpty);
	holder = next;
	strange = isStrange;
	emptied = isEmpty;
	setForeign(next == 1);
	for (w : 1 .. N) {
		newest[w] = false;
#ifndef CLAIM_ANY_RECORD
		claim[w] = 0;
#endif
		look[w] = 0;
		left[w] = 0
	}
	for (w : 1 .. BEATS * N) {
		if
		:: !isDue(w) -> setAhead(w, false)
		:: isDue(w) && !isLoose(w) -> forgetProof(w)
		:: else
		fi
	}
	w = 0
}

inline getLease(ticks)
{
	lease[me] = (lease[me] < ticks -> ticks : lease[me]);
	checkActs()
}

/* Two nodes under a fresh uuid. */
inline create(i)
{
	own[i] = true;
	beats[i] = true;
	setRaised(i, false);
	lease[i] = LEASE_OF_CREATION(i)
}

inline forgetProofs()
{
	forgetProof(me);
#if BEATS == 2
	forgetProof(N + me)
#endif
}

/* Nothing is left of the candidate's former nodes. The servers refuse what was sent for them. */
inline forgetAll()
{
	lease[me] = 0;
	newest[me] = false;
	forgetProofs();
	claim[me] = 0;
	writes[me] = false;
	look[me] = 0;
	left[me] = 0;
#ifdef TAKEN_UP
	stray[me] = false;
#endif
	beats[me] = false;
	holder = (holder == me -> 0 : holder)
}

/*
 * The candidate observes the holder. An answer that shows an older version than the newest one leads to nothing. A heartbeat node that is
 * missing counts as a version while the own node is there, because it is never made again.
 */
#define isFree(i) (does[i] == WAITS && own[i] && holder != i && (claim[i] == 0 || !held))
#define mayObserve (isFree(me) && held && own[holder] && canRead(me))
#define isNew (look[me] == 0 || look[me] == OLD)

#define isOutlasted (left[me] == 0 && (look[me] == VERSION || look[me] == GONE))
proctype Candidate(byte me)
{
	do
#ifdef FROM_SENDING
	:: d_step { mayObserve && isNew -> look[me] = ASKED; left[me] = DELAY(holder);
			printf("candidate %d sends its look at the leader\n", me) }
	:: d_step { look[me] == ASKED && own[holder] -> look[me] = VERSION;
			printf("candidate %d sees the version of the leader\n", me) }
#else
	:: d_step { mayObserve && isNew -> look[me] = VERSION; left[me] = DELAY(holder);
			printf("candidate %d sees the version of the leader\n", me) }
#endif
	:: d_step { isFree(me) && held && !own[holder] && canRead(me) && look[me] != GONE ->
#if defined(NO_DELAY)
			left[me] = 0;
#elif defined(GONE_FROM_VERSION)
			left[me] = (look[me] == 0 -> DELAY(holder) : left[me]);
#else
			left[me] = (holder == 0 -> DELAY_OF_EMPTY : DELAY(holder));
#endif
			look[me] = GONE;
			printf("candidate %d sees that the leader's node is gone, or that the record is empty\n", me)
		}
#ifdef NEVER_EMPTIED
	:: d_step { isFree(me) && held && !canRead(me) && look[me] != GONE ->
			left[me] = DELAY_OF_EMPTY;
			look[me] = GONE;
			printf("candidate %d sees that the record can't be read\n", me)
		}
#endif

	/* It has read the record, which is vacant, or whose holder is waited out. */
	:: d_step { isFree(me) && claim[me] == 0 && (!held || isOutlasted) ->
			claim[me] = leaseOf(me) + 1;
			printf("candidate %d sends a claim\n", me)
		}
	:: d_step { claim[me] != 0 && takesOver(me) && !own[holder] ->
			claim[me] = 0;
			look[me] = 0;
			left[me] = 0;
			printf("the servers refuse the takeover of candidate %d\n", me)
		}
	/* The claim is lost. Or the candidate reads, behind a write of its own, that the claim wasn't carried out and never will be. */
	:: d_step { claim[me] != 0 && !calm -> claim[me] = 0; printf("candidate %d loses a claim\n", me) }

	/*
	 * The reply to its claim, or a read of the record, also of a record that names it after a handover. Without a lease by then, it acts
	 * as soon as a proof of its own has begun one.
	 */
	:: d_step { does[me] == WAITS && holder == me ->
			does[me] = NAMED;
			newest[me] = true;
			look[me] = 0;
			left[me] = 0
		}
	:: d_step { does[me] == NAMED ->
			does[me] = LEADS;
			printf("candidate %d leads\n", me);
#if defined(LEASE_FROM_REPLY) || defined(RECORD_IS_LEASE)
			getLease(leaseOf(me))
#else
			checkActs()
#endif
		}
	:: d_step { acts(me) && own[me] && newest[me] && !writes[me] -> writes[me] = true; printf("candidate %d sends a guarded write\n", me) }

	/* Its work has settled: of its own accord, or because a proof was refused. */
	:: d_step { does[me] == LEADS && own[me] ->
			does[me] = GIVES;
#ifndef TAKEN_UP
			lease[me] = 0;
			forgetProofs();
#endif
			printf("candidate %d sends its release\n", me)
		}
#ifdef TAKEN_UP
	:: d_step { does[me] == GIVES && own[me] && newest[me] && !stray[me] ->
			stray[me] = true;
			does[me] = LEADS;
			printf("candidate %d, whose release is under way, reads that it leads, and goes on\n", me);
			checkActs()
		}
#endif

	/* Its heartbeat node is gone. It can't prove its node, and gives up its place. */
	:: d_step { does[me] == WAITS && own[me] && !beats[me] && holder != me ->
			removeNodes(me);
			printf("candidate %d can't prove its node, and leaves\n", me)
		}
	/* It learns that its own node is gone: after its release, or because of a fault. It joins again with new nodes, or never. */
	:: d_step { does[me] < DEAD && !own[me] ->
			forgetAll();
			does[me] = DONE;
			printf("candidate %d has no node any more\n", me)
		}
	:: d_step { does[me] == DONE && again > 0 && !calm ->
			useUp(again);
			does[me] = WAITS;
			create(me);
			printf("candidate %d joins again\n", me)
		}
	:: does[me] >= DEAD -> break
	od
}

/* What the servers do with the requests of a candidate, and the faults that befall it. */
#ifdef PLAIN_PROOF
#define sendsPlain (does[me] == LEADS && newest[me])
#endif
#ifdef PLAIN_LOOK
#define sendsPlain (does[me] <= LEADS)
#endif
#ifdef NO_CHECK
#define mayProve(i) beats[i]
#else
#define mayProve(i) (own[i] && beats[i])
#endif
/* A proof at an old version would be refused. */
#ifdef NODES_ALONE
#define sendsProof (does[me] == LEADS)
#else
#define sendsProof (does[me] == LEADS && newest[me])
#endif
/*
 * Whether a lease begins. A guessed proof may find that the record names another candidate. Or it names the sender, which leads by an old
 * answer: by another version than that of the proof.
 */
#if GUESSES && !defined(GUESS_COUNTS)
#define beginsLease (isLoose(slot) || (holder == me && (does[me] == WAITS || newest[me])))
#else
#define beginsLease true
#endif

proctype Proofs(byte me, slot)
{
end:
	do
	:: d_step { sendsProof && mayProve(me) && proof[slot] == 0 ->
			proof[slot] = leaseOf(me);
			printf("candidate %d sends a proof\n", me)
		}
#if GUESSES
	:: d_step { does[me] < LEADS && mayProve(me) && proof[slot] == 0 ->
			proof[slot] = leaseOf(me);
			printf("candidate %d sends a proof at the record's version, which it doesn't know\n", me)
		}
	:: d_step { does[me] < LEADS && mayProve(me) && proof[slot] == 0 ->
			proof[slot] = leaseOf(me);
			ahead[slot] = true;
			printf("candidate %d sends a proof at the record's next version\n", me)
		}
#endif
#ifdef WAITING_COUNTS
	:: d_step { does[me] < LEADS && mayProve(me) && proof[slot] == 0 ->
			proof[slot] = leaseOf(me);
			loose[slot] = true;
			printf("candidate %d, which waits, sends a proof of its nodes alone\n", me)
		}
#endif
#ifdef sendsPlain
	:: d_step { sendsPlain && own[me] && proof[slot] == 0 ->
			proof[slot] = leaseOf(me);
			plain[slot] = true;
			printf("candidate %d sends a check\n", me)
		}
	:: d_step { proof[slot] != 0 && plain[slot] && own[me] ->
			printf("the servers carry out a check of candidate %d\n", me);
			getLease(proof[slot]);
			forgetProof(slot)
		}
#endif
	:: d_step { proof[slot] != 0 && !isPlain(slot) && isDue(slot) && mayProve(me) ->
			printf("the servers carry out a proof of candidate %d\n", me);
			raise(me);
			if
			:: beginsLease -> getLease(proof[slot])
			:: else
			fi;
			forgetProof(slot)
		}
#ifdef MADE_AGAIN
	:: d_step { proof[slot] != 0 && own[me] && !beats[me] ->
			printf("the servers make the heartbeat node of candidate %d again\n", me);
			beats[me] = true;
			setRaised(me, false);
			getLease(proof[slot]);
			forgetProof(slot)
		}
#endif
	:: d_step { proof[slot] != 0 && !calm ->
			forgetProof(slot);
			printf("candidate %d loses a proof\n", me)
		}
	od
}

/* A term begins that the former leader hasn't handed over. */
inline endTerm()
{
	promise(LEASE_IS_OVER, nobodyMayAct);
	if
#ifndef NO_DELETE
	:: takesOver(me) -> removeNodes(holder)
#endif
	:: else
	fi
}

/* The leader, or the guardian of its dead process, gives the term back: to candidate i, or to nobody. */
inline giveTo(i)
{
	removeNodes(me);
	writeRecord(i, false, false);
	printf("the servers carry out that candidate %d gives its term to candidate %d\n", me, i)
}

/* A candidate that gives a term back has read the record: it may name the candidate by another write than the one by which it led. */
#ifdef WORK_GOES_ON
#define hasSettled(i) (does[i] == GIVES || (does[i] == LEADS && newest[i]))
#else
#define hasSettled(i) (does[i] == GIVES)
#endif
#ifdef TAKEN_UP
#define mayGive(i) (own[i] && held && holder == (i) && (does[i] == GIVES || stray[i]))
#else
#define mayGive(i) (own[i] && held && holder == (i) && hasSettled(i))
#endif
#ifdef GUARDS_THE_LIVING
#define mayGuard(i) (own[i] && held && holder == (i) && does[i] <= LEADS)
#else
#define mayGuard(i) (own[i] && held && holder == (i) && does[i] == DEAD)
#endif
#define mayTake(i) ((i) != me && own[i] && holder != (i))
#define give(i) \
	:: d_step { mayGive(me) && mayTake(i) -> giveTo(i) } \
	:: d_step { mayGuard(me) && mayTake(i) -> forgetSent(); giveTo(i) }
#define passOn(i) \
	:: d_step { mayClaim && held && mayTake(i) -> \
			endTerm(); writeRecord(i, false, false); claim[me] = 0; \
			printf("candidate %d puts candidate %d into the record\n", me, i); checkActs() }
#ifdef NO_DELETE
#define mayClaim (claim[me] != 0 && mayProve(me))
#else
#define mayClaim (claim[me] != 0 && mayProve(me) && (!takesOver(me) || own[holder]))
#endif

/* What a dead process has sent is carried out before the guardian takes its session, or never. */
inline forgetSent()
{
	forgetProofs();
	claim[me] = 0;
	writes[me] = false
}

#ifdef GUARD_NODE_ALONE
#define mayWrite(i) own[i]
#else
#define mayWrite(i) (own[i] && newest[i])
#endif

proctype Servers(byte me)
{
end:
	do
	:: d_step { mayClaim ->
			endTerm();
			printf("the servers carry out the claim of candidate %d\n", me);
#ifndef PLAIN_CLAIM
			raise(me);
#endif
			if
			:: does[me] <= LEADS -> getLease(claim[me] - 1)
			:: else
			fi;
			claim[me] = 0;
			writeRecord(me, false, false);
			checkActs()
		}
#if N == 3
	passOn(1)
	passOn(2)
	passOn(3)
#endif
	:: d_step { mayGive(me) -> giveTo(0) }
	:: d_step { mayGuard(me) -> forgetSent(); giveTo(0) }
	give(1)
	give(2)
#if N == 3
	give(3)
#endif
#ifndef NEVER_EMPTIED
	/* The candidate can't read the record, and empties it. No term begins. The proofs of a leader that could read it are refused then. */
	:: d_step { isFree(me) && held && !canRead(me) ->
			writeRecord(0, false, true);
			printf("candidate %d empties the record\n", me)
		}
#endif
	/* Its record is another: it leaves. */
	:: d_step { does[me] == GIVES && own[me] && holder != me -> removeNodes(me); printf("candidate %d leaves\n", me) }
	:: d_step { writes[me] && mayWrite(me) ->
			promise(FENCED, newest[me]);
			writes[me] = false;
			printf("the servers carry out a guarded write of candidate %d\n", me)
		}
	:: d_step { writes[me] && !calm -> writes[me] = false }

	/* A session ends, a stranger deletes a node, or a process dies: its nodes stay. */
	:: d_step { faults > 0 && own[me] -> useUp(faults); removeNodes(me); printf("the nodes of candidate %d go\n", me) }
	:: d_step { faults > 0 && own[me] -> useUp(faults); own[me] = false; printf("the own node of candidate %d goes\n", me) }
	:: d_step { faults > 0 && own[me] && beats[me] ->
			useUp(faults);
			if
			:: mayComeAgain(me)
			:: else -> outdate(me)
			fi;
			beats[me] = false;
			printf("the heartbeat node of candidate %d goes\n", me)
		}
	:: d_step { faults > 0 && own[me] && does[me] < DEAD ->
			useUp(faults);
			does[me] = DEAD;
			lease[me] = 0;
			printf("candidate %d dies\n", me)
		}
	:: d_step { does[me] == DEAD && own[me] ->
			removeNodes(me);
			forgetSent();
			printf("the servers end the session of candidate %d\n", me)
		}
	od
}

/* Time may pass at any moment, as long as a lease or a delay isn't over. */
#define lasts(i) (lease[i] > 0 || proof[i] > 0 || claim[i] > 1 || left[i] > 0)
#if N == 2
#define someLast (lasts(1) || lasts(2))
#else
#define someLast (lasts(1) || lasts(2) || lasts(3))
#endif
#define pass(ticks, last) ticks = (ticks > last -> ticks - 1 : ticks)
proctype Time()
{
end:
	do
	:: d_step { someLast ->
			printf("time passes: a tick\n");
			for (w : 1 .. N) {
				pass(lease[w], 0);
				pass(claim[w], 1);
				pass(left[w], 0)
			}
			/* A proof whose lease is over is of no use to its sender. That it would raise the version only protects. */
			for (w : 1 .. BEATS * N) {
				if
				:: proof[w] == 1 -> forgetProof(w)
				:: else -> pass(proof[w], 0)
				fi
			}
			w = 0
		}
	od
}

/* Another client writes the record. Faults may stop at any moment. */
proctype World()
{
end:
	do
	:: d_step { strangers > 0 -> strangers--; writeRecord(0, true, false); printf("a stranger writes the record\n") }
	:: d_step { !calm -> calm = true; faults = 0; strangers = 0 }
	od
}

init {
	atomic {
		for (w : 1 .. N) {
			create(w);
			run Candidate(w);
			run Proofs(w, w);
#if BEATS == 2
			run Proofs(w, N + w);
#endif
			run Servers(w)
		}
		w = 0;
		run Time();
		run World()
	}
}

/*
 * The proof rule: every lease begins with the sending of a transaction that raised a version. A candidate is a pair of nodes, its own
 * node and its heartbeat node. One transaction creates both, and they are never made again. A proof is check(own node) and
 * set(heartbeat node). A lease begins with the sending of a proof or of a claim, which contains a proof, and with nothing else.
 * Another candidate takes a term over by deleting the leader's heartbeat node at a version that stood still for the delay.
 * `npm run model` searches all states. README.md has the argument, and says what the model leaves out.
 *
 * The servers carry a request out at any time after its sending, or never. Between any two steps of one process the other processes
 * may take any number of steps, and time may pass. A slow network and a suspended process look like that, too. The delay is exactly
 * the lease, because there is one clock, which needs no margin.
 *
 * Three simplifications keep the model small:
 * - A committed proof or claim gives its lease at once. A reply that comes later, or never, gives less.
 * - No version has a number. A request that names an old version is refused, whichever old version that is. So whatever depends on a
 *   version is dropped as soon as the version is old: observations, claims and reads of the record.
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

/* Whose heartbeat node a candidate may observe. 1: anybody's, at any time. 0: only that of the candidate that the record names. */
#ifndef EARLY
#define EARLY 1
#endif

/* The number of proofs of one candidate that may be under way, besides its claim. */
#ifndef BEATS
#define BEATS 1
#endif

/* The length of a lease, in ticks. */
#ifndef LEASE
#define LEASE 2
#endif
#ifdef SHORT_DELAY
#define DELAY (LEASE - 1)
#else
#define DELAY LEASE
#endif

/*
 * The promises. Each must hold wherever the model asserts it. If a variant serves to break one promise, its search looks for that
 * promise alone.
 */
#define ONE_ACTS 1       /* two candidates never act at once */
#define TERM_IS_NEWEST 2 /* a leader acts only while the record names it */
#define LEASE_IS_OVER 3  /* a term that wasn't released ends only after its leader's lease */
#define RECORD_IS_OURS 4 /* a leader whose node is there finds its own record when it releases */
#define FENCED 5         /* a guarded write is carried out only while the record names its writer */
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

/* What a candidate has observed. 0: nothing that counts. */
#define VERSION 1 /* the newest version of the target's heartbeat node */
#define GONE 2    /* that the own node of the candidate that the record names is gone */
#define ASKED 3   /* the answer isn't there; used only where the delay counts from the sending */
#define OLD 4     /* a version that is old; used only where such a version matters */

/* The record. */
bool held;
byte holder; /* the candidate that the record names; 0 if its nodes are gone and it has joined again, or if the record is vacant */

/* The candidates, from 1 on. Holder 0 has no nodes. */
byte does[N + 1];
bool own[N + 1];    /* the candidate's own node exists */
bool beats[N + 1];  /* the candidate's heartbeat node exists */
byte lease[N + 1];  /* the number of ticks for which the candidate may act if it leads */
byte claim[N + 1];  /* 1 + the ticks of the lease that the claim under way would give; 0: no claim is under way */
byte look[N + 1];   /* what the candidate has observed */
byte left[N + 1];   /* the ticks of the delay that are left since then */
bool writes[N + 1]; /* a guarded write of the candidate is under way */
byte proof[BEATS * N + 1]; /* the ticks of the lease that the proof would give; 0: no proof is under way. Candidate i's second proof has the index N + i. */
#if N == 2
#define target(i) (3 - (i))
#define setTarget(i, whom) skip
#else
byte observed[N + 1];
#define target(i) observed[i]
#define setTarget(i, whom) observed[i] = whom
#endif

byte faults = FAULTS, again = AGAIN;
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
#if defined(PLAIN_PROOF) || defined(PLAIN_GUARD) || defined(PLAIN_LOOK) || defined(PLAIN_WAIT)
bool plain[BEATS * N + 1]; /* the proof is a mere check of the own node */
#define isPlain(slot) plain[slot]
#else
#define isPlain(slot) false
#endif
#if defined(TAKEN_UP) || defined(RELEASE_KEEPS)
bool stray[N + 1]; /* a release is under way, though its sender does something else by now */
#endif
#ifdef CREATION_COUNTS
#define LEASE_OF_CREATION LEASE
#else
#define LEASE_OF_CREATION 0
#endif

/* A candidate acts while it leads and its lease lasts: it asks the lease before every act. */
#define acts(i) (does[i] == LEADS && lease[i] > 0)
#define mayAct(i) (does[i] <= LEADS && lease[i] > 0)
#define isNewest(i) (!acts(i) || (held && holder == i))
#if N == 2
#define oneActs (!(acts(1) && acts(2)))
#define areNewest (isNewest(1) && isNewest(2))
#else
#define oneActs (!(acts(1) && acts(2)) && !(acts(1) && acts(3)) && !(acts(2) && acts(3)))
#define areNewest (isNewest(1) && isNewest(2) && isNewest(3))
#endif
inline checkActs()
{
	promise(ONE_ACTS, oneActs);
	promise(TERM_IS_NEWEST, areNewest)
}

/* A term is taken over: the record's holder is observed, and not gone. */
#define takesOver(i) (held && look[i] == VERSION && target(i) == holder)

#ifdef GONE_FROM_VERSION
#define outdated OLD
#else
#define outdated 0
#endif

/* The heartbeat node has a newer version, or a node is gone. What others have observed leads to no claim that is carried out. */
inline outdate(node)
{
	for (w : 1 .. N) {
		if
		:: w != node && look[w] == VERSION && target(w) == node ->
			claim[w] = (takesOver(w) -> 0 : claim[w]);
			look[w] = outdated;
			if
			:: outdated == 0 -> left[w] = 0; setTarget(w, 0)
			:: else
			fi
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

/*
 * The servers write the record. They refuse the claims that others have sent for the former record. What was observed of the end of
 * its holder is of no use any more. But observations of versions still count, whenever they began.
 */
inline writeRecord(next)
{
	held = (next != 0);
	holder = next;
	for (w : 1 .. N) {
#ifndef CLAIM_ANY_RECORD
		claim[w] = 0;
#endif
		if
		:: look[w] == GONE -> look[w] = 0; left[w] = 0
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
	lease[i] = LEASE_OF_CREATION
}

/* Nothing is left of the candidate's former nodes. The servers refuse what was sent for them. */
inline forgetAll()
{
	lease[me] = 0;
	proof[me] = 0;
#if BEATS == 2
	proof[N + me] = 0;
#endif
	claim[me] = 0;
	writes[me] = false;
	look[me] = 0;
	left[me] = 0;
	setTarget(me, 0);
#if defined(TAKEN_UP) || defined(RELEASE_KEEPS)
	stray[me] = false;
#endif
	beats[me] = false;
	holder = (holder == me -> 0 : holder)
}

/*
 * The candidate observes another one. An answer that shows an older version than the newest one leads to nothing. A heartbeat node
 * that is missing counts as a version while the own node is there, because it is never made again.
 */
#define isFree(i) (does[i] == WAITS && own[i] && holder != i && (claim[i] == 0 || !held))
#if EARLY
#define mayObserve(i) (isFree(me) && own[i] && me != (i))
#else
#define mayObserve(i) (isFree(me) && own[i] && held && holder == (i))
#endif
#if N == 2
#define isNew(i) (look[me] == 0 || look[me] == OLD)
#else
#define isNew(i) (look[me] == 0 || look[me] == OLD || (look[me] == VERSION && target(me) != (i)))
#endif
#ifdef FROM_SENDING
#define observe(i) \
	:: d_step { mayObserve(i) && isNew(i) -> look[me] = ASKED; left[me] = DELAY; setTarget(me, i); \
			printf("candidate %d sends its look at candidate %d\n", me, i) } \
	:: d_step { look[me] == ASKED && target(me) == i && own[i] -> look[me] = VERSION; \
			printf("candidate %d sees the version of candidate %d\n", me, i) }
#else
#define observe(i) \
	:: d_step { mayObserve(i) && isNew(i) -> look[me] = VERSION; left[me] = DELAY; setTarget(me, i); \
			printf("candidate %d sees the version of candidate %d\n", me, i) }
#endif

#define isOutlasted (left[me] == 0 && (takesOver(me) || look[me] == GONE))
proctype Candidate(byte me)
{
	do
	observe(1)
	observe(2)
#if N == 3
	observe(3)
#endif
	:: d_step { isFree(me) && held && !own[holder] && look[me] != GONE ->
#if defined(NO_DELAY)
			left[me] = 0;
#elif defined(GONE_FROM_VERSION)
			left[me] = (look[me] == 0 -> DELAY : left[me]);
#else
			left[me] = DELAY;
#endif
			look[me] = GONE;
			setTarget(me, 0);
			printf("candidate %d sees that the leader's node is gone\n", me)
		}

	/* It has read the record, which is vacant, or whose holder is waited out. */
	:: d_step { isFree(me) && claim[me] == 0 && (!held || isOutlasted) ->
			claim[me] = LEASE + 1;
			printf("candidate %d sends a claim\n", me)
		}
	/* The claim is lost. Or the candidate has proved its node since, and reads that the claim wasn't carried out and never will be. */
	:: d_step { claim[me] != 0 && !calm -> claim[me] = 0; printf("candidate %d loses a claim\n", me) }

	/*
	 * The reply to its claim, or a read of the record, also of a record that names it after a handover. It acts as long as the lease of
	 * any proof of its own lasts, also of one that it sent before.
	 */
	:: d_step { does[me] == WAITS && holder == me -> does[me] = NAMED; look[me] = 0; left[me] = 0; setTarget(me, 0) }
	:: d_step { does[me] == NAMED ->
			does[me] = LEADS;
			printf("candidate %d leads\n", me);
#if defined(LEASE_FROM_REPLY) || defined(RECORD_IS_LEASE)
			getLease(LEASE)
#else
			checkActs()
#endif
		}
	:: d_step { acts(me) && own[me] && !writes[me] -> writes[me] = true; printf("candidate %d sends a guarded write\n", me) }

	/* Its work has settled. */
	:: d_step { does[me] == LEADS && own[me] ->
			does[me] = GIVES;
#ifndef TAKEN_UP
			lease[me] = 0;
			proof[me] = 0;
#if BEATS == 2
			proof[N + me] = 0;
#endif
#endif
			printf("candidate %d sends its release\n", me)
		}
#ifdef TAKEN_UP
	:: d_step { does[me] == GIVES && own[me] && !stray[me] ->
			stray[me] = true;
			does[me] = LEADS;
			printf("candidate %d, whose release is under way, reads that it leads, and goes on\n", me);
			checkActs()
		}
#endif

	/* Its heartbeat node is gone. It can't prove its node any more, and gives up its place. */
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
#define sendsPlain true
#endif
#ifdef PLAIN_GUARD
#define sendsPlain (does[me] == LEADS)
#endif
#ifdef PLAIN_LOOK
#define sendsPlain (does[me] < LEADS && holder == me)
#endif
#ifdef PLAIN_WAIT
#define sendsPlain (does[me] == WAITS)
#endif
#ifdef NO_CHECK
#define mayProve(i) beats[i]
#else
#define mayProve(i) (own[i] && beats[i])
#endif

proctype Proofs(byte me, slot)
{
end:
	do
	:: d_step { does[me] <= LEADS && mayProve(me) && proof[slot] == 0 ->
			proof[slot] = LEASE;
			printf("candidate %d sends a proof\n", me)
		}
#ifdef sendsPlain
	:: d_step { does[me] <= LEADS && own[me] && proof[slot] == 0 && sendsPlain ->
			proof[slot] = LEASE;
			plain[slot] = true;
			printf("candidate %d sends a check\n", me)
		}
	:: d_step { proof[slot] != 0 && plain[slot] && own[me] ->
			printf("the servers carry out a check of candidate %d\n", me);
			getLease(proof[slot]);
			proof[slot] = 0;
			plain[slot] = false
		}
#endif
	:: d_step { proof[slot] != 0 && !isPlain(slot) && mayProve(me) ->
			printf("the servers carry out a proof of candidate %d\n", me);
			raise(me);
			getLease(proof[slot]);
			proof[slot] = 0
		}
#ifdef MADE_AGAIN
	:: d_step { proof[slot] != 0 && own[me] && !beats[me] ->
			printf("the servers make the heartbeat node of candidate %d again\n", me);
			beats[me] = true;
			setRaised(me, false);
			getLease(proof[slot]);
			proof[slot] = 0
		}
#endif
	:: d_step { proof[slot] != 0 && !calm ->
			proof[slot] = 0;
#ifdef sendsPlain
			plain[slot] = false;
#endif
			printf("candidate %d loses a proof\n", me)
		}
	od
}

/* The end of a term by another candidate's write. */
inline endTerm()
{
	promise(LEASE_IS_OVER, !held || holder == 0 || !mayAct(holder));
	if
#ifndef NO_DELETE
	:: takesOver(me) -> removeNodes(holder)
#endif
	:: else
	fi
}

/* The leader, or the guardian of its dead process, gives the term back: to candidate i, or to nobody. */
#ifdef RELEASE_KEEPS
#define removeReleased(i) stray[i] = true
#else
#define removeReleased(i) removeNodes(i)
#endif
inline giveTo(i)
{
	removeReleased(me);
	writeRecord(i);
	printf("the servers carry out that candidate %d gives its term to candidate %d\n", me, i)
}

#ifdef WORK_GOES_ON
#define hasSettled(i) (does[i] == GIVES || does[i] == LEADS)
#else
#define hasSettled(i) (does[i] == GIVES)
#endif
#if defined(TAKEN_UP)
#define mayGive(i) (own[i] && held && (does[i] == GIVES || stray[i]))
#elif defined(RELEASE_KEEPS)
#define mayGive(i) (own[i] && hasSettled(i) && !stray[i])
#else
#define mayGive(i) (own[i] && hasSettled(i))
#endif
#ifdef GUARDS_THE_LIVING
#define mayGuard(i) (own[i] && held && holder == (i) && does[i] <= LEADS)
#else
#define mayGuard(i) (own[i] && held && holder == (i) && does[i] == DEAD)
#endif
#define mayTake(i) ((i) != me && own[i] && does[i] != GIVES && holder != (i))
#define give(i) \
	:: d_step { mayGive(me) && mayTake(i) -> promise(RECORD_IS_OURS, held && holder == me); giveTo(i) } \
	:: d_step { mayGuard(me) && mayTake(i) -> forgetSent(); giveTo(i) }
#define passOn(i) \
	:: d_step { mayClaim && held && mayTake(i) -> \
			endTerm(); writeRecord(i); claim[me] = 0; \
			printf("candidate %d puts candidate %d into the record\n", me, i); checkActs() }
#ifdef ANY_RECORD
#define mayClaim (claim[me] != 0 && mayProve(me) && (!takesOver(me) || own[holder]))
#elif defined(NO_DELETE)
#define mayClaim (claim[me] != 0 && mayProve(me))
#else
#define mayClaim (claim[me] != 0 && mayProve(me) && (!takesOver(me) || own[holder]))
#endif

/* What a dead process has sent is carried out before the guardian takes its session, or never. */
inline forgetSent()
{
	proof[me] = 0;
#if BEATS == 2
	proof[N + me] = 0;
#endif
	claim[me] = 0;
	writes[me] = false
}

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
			writeRecord(me);
			checkActs()
		}
#if N == 3
	passOn(1)
	passOn(2)
	passOn(3)
#endif
	:: d_step { mayGive(me) -> promise(RECORD_IS_OURS, held && holder == me); giveTo(0) }
	:: d_step { mayGuard(me) -> forgetSent(); giveTo(0) }
	give(1)
	give(2)
#if N == 3
	give(3)
#endif
	:: d_step { writes[me] && own[me] ->
			promise(FENCED, held && holder == me);
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
				pass(proof[w], 0);
#ifdef sendsPlain
				plain[w] = (proof[w] == 0 -> false : plain[w]);
#endif
			}
			w = 0
		}
	od
}

/* Faults may stop at any moment. */
proctype Calm()
{
end:
	do
	:: d_step { !calm -> calm = true; faults = 0 }
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
		run Calm()
	}
}

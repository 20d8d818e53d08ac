/*
 * Takeover by lease: a candidate claims the term of a leader whose heartbeat node shows no new version for a lease. The leader
 * has claimed its term, or was handed it. The model has late and lost heartbeats and claims, stale reads, sessions that end, nodes
 * that an operator deletes, processes that die or are suspended, and terms that another candidate may follow only after the end of
 * the leader's node. `npm run model` searches all its states. docs/model.md says what the model leaves out, and why that hides
 * nothing.
 *
 * A request takes three steps: it is sent, the servers carry it out or refuse it, and the reply arrives. Between any two
 * steps of one process the other processes may take any number of steps, and time may pass. A slow network and a suspended process
 * look like that, too. The delay is exactly the lease, because there is one clock, which needs no margin.
 */

/* The number of candidates: two or three. */
#ifndef CANDIDATES
#define CANDIDATES 2
#endif
#define N CANDIDATES

/* The most that happens in one execution. */
#ifndef FAULTS
#define FAULTS 1 /* sessions that end, nodes that an operator deletes, and processes that die */
#endif
#ifndef AGAIN
#define AGAIN 1 /* candidates that join again, after a term or after the loss of their node */
#endif

/*
 * The number of ways in which another candidate may follow a term. 1: when the lease is over. 2: also terms that may be followed
 * only after the end of the leader's node.
 */
#ifndef WAYS
#define WAYS 2
#endif

/* The number of heartbeats of one candidate that may be under way. */
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
#define ONE_ACTS 1
#define TERM_IS_NEWEST 2
#define LEASE_IS_OVER 3
#define RECORD_IS_OURS 4
#ifdef ONLY
#define promise(which, what) assert((which) != ONLY || (what))
#else
#define promise(which, what) assert(what)
#endif

/* The states of a candidate. */
#define WAITS 0
#define CLAIMS 1
#define UNSURE 2 /* the candidate has lost the connection of its claim; used only where that makes a difference */
#define LEADS 3
#define DEAD 4
#define DONE 5

/* The states of a request whose reply hasn't come. 0: there is no such request. */
#define SENT 1
#define CARRIED_OUT 2

/* The states of a look at the leader's nodes whose answer hasn't come. 0: there is no such look. */
#define ASKED 1  /* the servers haven't looked yet; used only where that makes a difference */
#define NEWEST 2 /* the answer will show the newest version of the heartbeat node */
#define GONE 3   /* the answer will show that the leader's own node is gone */

/* What a candidate knows of its heartbeat node. 0: it has sent no heartbeat that creates the node. */
#define TRIED 1 /* the candidate has sent such a heartbeat, and doesn't know its result */
#define MADE 2

/* A delay is the number of its remaining ticks, plus one. 0: there is no delay. In this way no clock goes on for ever. */
#define WHOLE_DELAY (DELAY + 1)
#define IS_OVER 1

/* The record. */
byte version = 1;
bool held;
byte term;
byte holder;  /* 0 also if the leader has given up the node with which it led */
bool byLease; /* another candidate may follow the term when its lease is over */

/* The candidates, from 1 on. Holder 0 has no nodes. */
byte does[N + 1];
bool own[N + 1];       /* the candidate's own node exists */
bool beats[N + 1];     /* the candidate's heartbeat node exists */
byte made[N + 1];      /* what the candidate knows of its heartbeat node */
byte lease[N + 1];     /* the number of ticks for which the candidate may act */
byte seen[N + 1];      /* the version of the record that the candidate has read, claims, or has claimed; 0 if it is an old version */
byte asks[N + 1];      /* the candidate's look at the leader's nodes */
byte count[N + 1];     /* the candidate's delay since it saw the newest version of the leader's heartbeat node */
byte sinceGone[N + 1]; /* the candidate's delay since it saw that the leader's own node is gone */
byte claim[N + 1];     /* the candidate's claim */
byte claimed[N + 1];   /* the remaining ticks of the claim's lease */
bool over[N + 1];      /* the claim deletes the leader's nodes */
byte ofTerm[N + 1];    /* the term that the candidate claims, or has claimed */
bool leasable[N + 1];  /* another candidate may follow that term when its lease is over */
bool come;             /* candidate 2 has read the record, or was handed the term */

/* Heartbeats under way. The second heartbeat of candidate i has the index N + i. */
#define SLOTS (BEATS * N + 1)
byte beat[SLOTS];
byte beaten[SLOTS];  /* the remaining ticks of the heartbeat's lease */
byte kind[SLOTS];
#define RAISES 0 /* the heartbeat raises the version of the heartbeat node */
#define CHECKS 1 /* the heartbeat is a check of the own node, and raises no version */
#define MAKES 2  /* the heartbeat creates the heartbeat node: it is the first heartbeat of a candidate that raises versions */

byte faults = FAULTS, again = AGAIN;
hidden byte w; /* used only within a step */

/*
 * The versions of heartbeat nodes have no numbers. They only rise, so an observation of an older version leads to no claim that
 * the servers carry out. The model drops such an observation. The first version is an exception, because it comes again with a
 * node that is created again: a candidate raises no version before it knows that its node exists. The variants below need more.
 */
#ifdef T_FROM_SENDING
byte sinceAsked[N + 1]; /* the candidate's delay since it sent its look */
#endif
#ifdef T_OF_GONE
byte sinceSeen[N + 1]; /* the candidate's delay since it saw any version of the leader's heartbeat node */
#endif
#ifdef MADE_AGAIN
bool raised[N + 1]; /* the candidate has raised the version of its heartbeat node */
#define mayComeAgain(i) (!raised[i])
#else
#define mayComeAgain(i) (made[i] == TRIED)
#endif
#ifdef REFUSED_CHECKS
bool barred[N + 1]; /* the servers have refused to create the candidate's heartbeat node */
#endif
#ifdef T_BEFORE_RECORD
byte target[N + 1]; /* the candidate on whose heartbeat node the delay counts */
#define counts(i, leader) (target[i] == (leader))
#else
#define counts(i, leader) (held && holder == (leader))
#endif

/* A candidate acts while it leads and its lease lasts: it asks the lease before every act. */
#define acts(i) (does[i] == LEADS && lease[i] > 0)

/* A lease lasts, or a reply that hasn't come yet will show one that does. */
#if BEATS == 1
#define isBeaten(i) (beat[i] == CARRIED_OUT)
#define isSending(i) (beat[i] == SENT)
#else
#define isBeaten(i) (beat[i] == CARRIED_OUT || beat[N + (i)] == CARRIED_OUT)
#define isSending(i) (beat[i] == SENT || beat[N + (i)] == SENT)
#endif
#define mayAct(i) (lease[i] > 0 || isBeaten(i) || (claim[i] == CARRIED_OUT && claimed[i] > 0))

/* All candidates are alike, so the first to claim may be called candidate 1, and the next one to do anything candidate 2. */
#define hasCome(i) (does[i] >= DEAD || ((i) == 1 && version > 1) || ((i) == 2 && come))
#define mayCome(i) ((i) == 1 || (hasCome(1) && ((i) == 2 || hasCome(2))))

/* A candidate forgets what it has seen of the leader's nodes. */
inline forgetLeader(i)
{
	asks[i] = 0;
	count[i] = 0;
	sinceGone[i] = 0;
#ifdef T_FROM_SENDING
	sinceAsked[i] = 0;
#endif
#ifdef T_OF_GONE
	sinceSeen[i] = 0;
#endif
#ifdef T_BEFORE_RECORD
	target[i] = 0;
#endif
}

/* A heartbeat node has a newer version, or is gone. Older observations of it don't count any more. */
inline outdate(leader)
{
	for (w : 1 .. N) {
		if
		:: counts(w, leader) ->
			count[w] = 0;
			asks[w] = (asks[w] == NEWEST -> 0 : asks[w])
		:: else
		fi
	}
	w = 0
}

/* Both nodes of a candidate are deleted. */
inline removeNodes(i)
{
	own[i] = false;
	beats[i] = false;
	made[i] = 0;
	outdate(i)
}

/*
 * The servers write the record. Reads of the former record don't count any more, and neither do observations of its leader: each
 * delay begins after a read of the new record.
 */
#ifdef T_BEFORE_RECORD
#define keepsCount(i) (held && target[i] == holder)
#else
#define keepsCount(i) false
#endif
inline writeRecord()
{
	version++;
	for (w : 1 .. N) {
		if
		:: keepsCount(w)
		:: else -> forgetLeader(w)
		fi;
		seen[w] = 0
	}
	w = 0
}

/*
 * A term ends without a release. If the leader's nodes exist, they are deleted, but the heartbeat node only at the version that
 * the candidate saw.
 */
#if defined(ANY_VERSION)
#define leaderIsAsSeen (own[holder] && beats[holder])
#elif defined(NOTHING_COUNTS)
#define leaderIsAsSeen (own[holder] && count[me] > 0)
#else
#define leaderIsAsSeen (own[holder] && beats[holder] && count[me] > 0)
#endif
inline endTerm(deletes)
{
	promise(LEASE_IS_OVER, holder == 0 || holder == me || !mayAct(holder));
#ifndef NO_DELETE
	if
	:: deletes -> removeNodes(holder)
	:: else
	fi
#endif
}

/* The claim's transaction checks the candidate's own node and the record's version. It may delete the leader's nodes. */
#define succeeds (own[me] && seen[me] == version && (!over[me] || leaderIsAsSeen))
inline commitClaim()
{
	promise(TERM_IS_NEWEST, ofTerm[me] == term + 1);
	if
	:: held -> endTerm(over[me])
	:: else
	fi;
	term++;
	holder = me;
	byLease = leasable[me];
	held = true;
	writeRecord();
	seen[me] = version;
	over[me] = false;
	claim[me] = CARRIED_OUT;
	printf("the servers carry out the claim of candidate %d: term %d, version %d\n", me, term, version)
}

/* The record names the successor. That begins no lease. The candidate that hands over decides how others may follow the term. */
inline handTo(i, isLeasable)
{
	term++;
	holder = i;
	byLease = isLeasable;
	held = true;
	come = (come || i == 2);
	writeRecord();
	printf("the servers carry out that candidate %d hands over to candidate %d: term %d, version %d\n", me, i, term, version)
}

/* The release makes the record vacant. */
inline vacate()
{
	holder = 0;
	byLease = false;
	held = false;
	writeRecord();
	printf("the servers carry out the release of candidate %d: version %d\n", me, version)
}

/* The release's transaction. If the record weren't as the claim left it, only the nodes would be deleted. */
#define isOurs (seen[me] == version)
inline commitRelease()
{
	promise(RECORD_IS_OURS, isOurs);
	own[me] = false;
	beats[me] = false
}
#define mayRelease (does[me] == LEADS && own[me])

/* A leader may hand its term to any other existing node, also to the node of a dead process. */
#ifdef WARM_CANDIDATES
#define WARM_SUCCESSORS
#endif
#ifdef WARM_SUCCESSORS
#define DEAD_SESSIONS_STAY
#define isFit(i) (own[i] && beats[i])
#else
#define isFit(i) own[i]
#endif
#define mayHandTo(i) (me != (i) && holder != (i) && isFit(i) && mayCome(i))
#if WAYS == 2
#define release(i) \
	:: atomic { mayRelease && mayHandTo(i) && isOurs -> commitRelease(); handTo(i, true); joinAgainOrNot() } \
	:: atomic { mayRelease && mayHandTo(i) && isOurs -> commitRelease(); handTo(i, false); joinAgainOrNot() }
#define putForward(i) \
	:: d_step { mayPutForward && mayHandTo(i) -> endTerm(count[me] != 0); handTo(i, true) } \
	:: d_step { mayPutForward && mayHandTo(i) -> endTerm(count[me] != 0); handTo(i, false) }
#else
#define release(i) \
	:: atomic { mayRelease && mayHandTo(i) && isOurs -> commitRelease(); handTo(i, true); joinAgainOrNot() }
#define putForward(i) \
	:: d_step { mayPutForward && mayHandTo(i) -> endTerm(count[me] != 0); handTo(i, true) }
#endif

/*
 * The candidate drops a heartbeat: it was answered, or will get no reply. If a heartbeat that creates the node hasn't been carried
 * out, the next one counts as the first. It may therefore begin a lease, which is more than the code allows.
 */
inline loseBeat(slot)
{
	made[me] = (beat[slot] == SENT && kind[slot] == MAKES -> 0 : made[me]);
	dropBeat(slot)
}
inline dropBeat(slot)
{
	beat[slot] = 0;
	beaten[slot] = 0;
	kind[slot] = 0
}

/* The candidate has no lease, and no reply will give it one. */
inline dropLeases()
{
	lease[me] = 0;
	claimed[me] = 0;
	loseBeat(me);
#if BEATS == 2
	loseBeat(N + me)
#endif
}

/* The candidate has no term and claims none. A later claim begins a later lease than any request that was sent before. */
inline dropTerm()
{
	dropLeases();
	claim[me] = 0;
	over[me] = false;
	ofTerm[me] = 0;
	leasable[me] = false;
	seen[me] = 0;
	forgetLeader(me)
}
inline waitOn()
{
	dropTerm();
	does[me] = WAITS
}

/* The candidate has given up its former node. */
inline disown()
{
	holder = (holder == me -> 0 : holder)
}

/* The candidate knows that its node is gone. It joins again with new nodes, or never. */
inline joinAgainOrNot()
{
	waitOn();
	made[me] = 0;
	beats[me] = false;
#ifdef MADE_AGAIN
	raised[me] = false;
#endif
	disown();
	if
	:: again > 0 -> again--; own[me] = true; printf("candidate %d joins again\n", me)
	:: does[me] = DONE; printf("candidate %d is done\n", me); break
	fi
}

/* A reply shows for how long the candidate may act. */
inline mayActFor(ticks)
{
	lease[me] = (lease[me] < ticks -> ticks : lease[me]);
	if
	:: acts(me) ->
		for (w : 1 .. N) {
			promise(ONE_ACTS, w == me || !acts(w))
		}
		w = 0;
		promise(TERM_IS_NEWEST, ofTerm[me] == term)
	:: else
	fi
}

/* The candidate learns that the servers have carried out its claim. */
inline lead()
{
	printf("candidate %d leads term %d\n", me, ofTerm[me]);
	does[me] = LEADS;
#ifdef LEASE_FROM_REPLY
	mayActFor(LEASE);
#else
	mayActFor(claimed[me]);
#endif
	claim[me] = 0;
	claimed[me] = 0
}

/*
 * A candidate may claim a vacant record, and a term whose delay is over. It may also claim a term that it was handed, if the record
 * says that others may follow the term by lease, while the candidate's heartbeats are checks.
 */
#define isFree (seen[me] == version && !held)
#define outlasted (count[me] == IS_OVER || sinceGone[me] == IS_OVER)
#define mayPutForward (does[me] == WAITS && own[me] && outlasted)
#define mayClaim (does[me] == WAITS && own[me] && (isFree || outlasted))
inline sendClaim(isLeasable)
{
	does[me] = CLAIMS;
	claim[me] = SENT;
	claimed[me] = LEASE;
	over[me] = (count[me] == IS_OVER);
	ofTerm[me] = term + 1;
	leasable[me] = isLeasable;
	seen[me] = version;
	asks[me] = 0;
	sinceGone[me] = 0;
	printf("candidate %d claims version %d\n", me, version)
}

/*
 * Stands for the heartbeats of a candidate that waits. Other candidates look for its heartbeat node only after it claims a term or
 * is handed one, so the model may create the node then. A node that its candidate doesn't know of may as well come later.
 */
inline makeBeats()
{
	made[me] = MADE;
	beats[me] = true;
	printf("candidate %d has a heartbeat node\n", me)
}

/* The candidate was handed the term, and hasn't read the record. Its heartbeats may have begun a lease. */
#define isHanded(i) (does[i] == WAITS && holder == (i))
inline learn()
{
	printf("candidate %d reads that it was handed term %d\n", me, term);
	does[me] = LEADS;
	ofTerm[me] = term;
	leasable[me] = byLease;
	seen[me] = version;
#ifdef RECORD_IS_LEASE
	mayActFor(LEASE)
#else
	mayActFor(lease[me])
#endif
}

/* Without a heartbeat node of the leader there is no version, and no delay. */
#ifdef NOTHING_COUNTS
#define isShown true
#else
#define isShown beats[holder]
#endif

/* The candidate follows the leader that its record names. */
#define follows (does[me] == WAITS && held && holder != me && seen[me] == version)
#ifdef T_FROM_SENDING
#define mayLook (follows && asks[me] == ASKED)
#else
#define mayLook (follows && asks[me] == 0)
#endif

/*
 * In a term that others may follow by lease, only heartbeats that raise versions begin leases: from the claim on, or from before
 * the handover. The first heartbeat creates the heartbeat node, whatever its candidate does meanwhile. In other terms a heartbeat
 * is a check of the own node. If a candidate was handed the term and doesn't know, its heartbeats are such checks, too. If the
 * record says that others may follow the term by lease, these checks begin no lease.
 */
#define hasClaimed (does[me] == CLAIMS || does[me] == UNSURE || does[me] == LEADS)
#define mayBeat (((hasClaimed && leasable[me]) || isHanded(me)) && made[me] == MADE)
#define needsBeats (own[me] && ((hasClaimed && leasable[me]) || isHanded(me)))
#ifdef REPEATS_COUNT
#define mayMake (needsBeats && made[me] != MADE)
#define mayRepeat false
#else
#define mayMake (needsBeats && made[me] == 0)
#ifdef REFUSED_CHECKS
#define isBarred barred[me]
#else
#define isBarred false
#endif
#define mayRepeat (needsBeats && !isBarred && made[me] == TRIED && !isSending(me) && claim[me] != SENT)
#endif

/* The servers refuse every request of a candidate without its own node. Only its use of its lease matters then. */
proctype Candidate(byte me)
{
	do
	/* The candidate reads the record. If others take steps after that, it has read an older record. */
	:: d_step { isHanded(me) -> learn() }
	:: d_step { does[me] == WAITS && own[me] && holder != me && seen[me] != version && mayCome(me) ->
			seen[me] = version;
			come = (come || me == 2);
			printf("candidate %d reads the record: version %d\n", me, version)
		}

	/* The candidate looks at the leader's nodes. The answer comes later. */
#ifdef T_FROM_SENDING
	:: d_step { follows && asks[me] == 0 && count[me] == 0 && sinceGone[me] == 0 ->
			asks[me] = ASKED;
			sinceAsked[me] = WHOLE_DELAY;
			printf("candidate %d sends its look at candidate %d\n", me, holder)
		}
#endif
	:: d_step { mayLook && byLease && own[holder] && isShown && count[me] == 0 ->
			asks[me] = NEWEST;
#ifdef T_BEFORE_RECORD
			target[me] = holder;
#endif
			printf("the servers look for candidate %d: candidate %d has its newest version\n", me, holder)
		}
	:: d_step { mayLook && !own[holder] && sinceGone[me] == 0 ->
			asks[me] = GONE;
			printf("the servers look for candidate %d: the leader's node is gone\n", me)
		}
	:: d_step { asks[me] == NEWEST ->
			asks[me] = 0;
#ifdef T_FROM_SENDING
			count[me] = sinceAsked[me];
			sinceAsked[me] = 0;
#else
			count[me] = WHOLE_DELAY;
#endif
#ifdef T_OF_GONE
			sinceSeen[me] = WHOLE_DELAY;
#endif
			printf("candidate %d sees the version\n", me)
		}
	:: d_step { asks[me] == GONE ->
			asks[me] = 0;
			count[me] = 0;
#if defined(ZERO_DELAY)
			sinceGone[me] = IS_OVER;
#elif defined(T_OF_GONE)
			sinceGone[me] = (sinceSeen[me] != 0 -> sinceSeen[me] : WHOLE_DELAY);
#else
			sinceGone[me] = WHOLE_DELAY;
#endif
			printf("candidate %d sees that the leader's node is gone\n", me)
		}
#if defined(T_BEFORE_RECORD) || defined(WARM_SUCCESSORS)
	:: d_step { does[me] == WAITS && own[me] && seen[me] != 0 && made[me] == 0 -> makeBeats() }
#endif
#ifdef T_BEFORE_RECORD
	:: d_step { does[me] == WAITS && !held && own[3 - me] && beats[3 - me] && count[me] == 0 ->
			count[me] = WHOLE_DELAY;
			target[me] = 3 - me;
			printf("candidate %d sees the version of candidate %d, which doesn't lead\n", me, 3 - me)
		}
#endif

	/* The candidate claims. Or it puts another candidate into the record, which begins no lease. */
#ifdef WARM_CANDIDATES
	:: d_step { mayClaim && made[me] == MADE -> sendClaim(true) }
#else
	:: d_step { mayClaim -> sendClaim(true) }
#endif
	:: d_step { mayClaim && made[me] != MADE -> makeBeats(); sendClaim(true) }
	:: d_step { WAYS == 2 && mayClaim && made[me] != MADE -> sendClaim(false) }
	:: d_step { WAYS == 2 && isHanded(me) && own[me] && byLease -> sendClaim(false) }
	putForward(1)
	putForward(2)
#if CANDIDATES == 3
	putForward(3)
#endif

	/* The candidate had a heartbeat node before it was handed the term. */
	:: d_step { isHanded(me) && own[me] && made[me] == 0 -> makeBeats() }

	/*
	 * The first heartbeat was carried out and got no reply. Another heartbeat finds the heartbeat node, or creates it once more. It
	 * begins no lease. Therefore the time of its sending doesn't matter, and without a reply it is like a heartbeat that comes later.
	 */
	:: d_step { mayRepeat ->
			beats[me] = true;
			made[me] = MADE;
			printf("candidate %d knows that it has a heartbeat node\n", me)
		}
#ifdef REFUSED_CHECKS
	:: d_step { mayRepeat ->
			barred[me] = true;
			printf("the servers refuse to make the heartbeat node of candidate %d\n", me)
		}
#endif

	/*
	 * The reply to the candidate's claim. Without a reply the candidate reads the record behind a barrier. If the record then shows
	 * that the claim wasn't carried out, it never will be.
	 */
	:: d_step { claim[me] == CARRIED_OUT && does[me] < LEADS -> lead() }
	:: d_step { claim[me] == SENT && does[me] < LEADS ->
			waitOn();
			printf("candidate %d has no reply, and reads that it doesn't lead\n", me)
		}
#ifdef LOOK_CONFIRMS
	:: d_step { does[me] == CLAIMS -> does[me] = UNSURE; printf("candidate %d loses its connection\n", me) }
#endif

#ifdef MODE_CHANGED
	:: d_step { does[me] == LEADS && leasable[me] && beat[me] == 0 ->
			leasable[me] = false;
			printf("candidate %d beats by checks from now on\n", me)
		}
#endif

	/* The leader's work has settled, and the leader gives the term back. */
	:: atomic { mayRelease && isOurs -> commitRelease(); vacate(); joinAgainOrNot() }
#ifdef NO_DELETE
	:: atomic { mayRelease && !isOurs -> commitRelease(); joinAgainOrNot() }
#endif
	release(1)
	release(2)
#if CANDIDATES == 3
	release(3)
#endif

	/* The candidate learns that its node is gone. */
	:: atomic { does[me] < DEAD && !own[me] -> joinAgainOrNot() }
	:: does[me] == DEAD -> break
	od
}

#define mayCheckAsHanded (isHanded(me) && !byLease)
#if defined(CHECK_BEHIND_CLAIM)
#define mayCheck (mayCheckAsHanded || (hasClaimed && (!leasable[me] || (does[me] == CLAIMS && made[me] != MADE))))
#elif defined(LOOK_CONFIRMS)
#define mayCheck (mayCheckAsHanded || (hasClaimed && (!leasable[me] || does[me] == UNSURE)))
#elif defined(GUARD_CONFIRMS)
#define mayCheck (mayCheckAsHanded || (hasClaimed && (!leasable[me] || does[me] == LEADS)))
#elif defined(REFUSED_CHECKS)
#define mayCheck (mayCheckAsHanded || (hasClaimed && (!leasable[me] || barred[me])))
#elif defined(HANDED_CHECKS)
#define mayCheck (isHanded(me) || (hasClaimed && !leasable[me]))
#else
#define mayCheck (mayCheckAsHanded || (hasClaimed && !leasable[me]))
#endif
inline send(what)
{
	beat[slot] = SENT;
	beaten[slot] = LEASE;
	kind[slot] = what
}

/* The heartbeats of a candidate, one after the other. With BEATS == 2 there are two such sequences. */
proctype Heartbeats(byte me, slot)
{
end:
	do
	:: d_step { mayBeat && own[me] && beat[slot] == 0 -> send(RAISES); printf("candidate %d sends a heartbeat\n", me) }
	:: d_step { mayCheck && own[me] && beat[slot] == 0 -> send(CHECKS); printf("candidate %d sends a check\n", me) }
	:: d_step { mayMake && beat[slot] == 0 ->
			send(MAKES);
			made[me] = TRIED;
			printf("candidate %d sends a heartbeat that makes its node\n", me)
		}

	/* The servers carry out the heartbeat after the claim, or refuse it. */
	:: d_step { beat[slot] == SENT && claim[me] != SENT ->
			if
			:: own[me] && kind[slot] == CHECKS ->
				beat[slot] = CARRIED_OUT;
				printf("the servers carry out a check of candidate %d\n", me)
			:: own[me] && kind[slot] == RAISES && beats[me] ->
				beat[slot] = CARRIED_OUT;
#ifndef NO_VERSION
				outdate(me);
#endif
#ifdef MADE_AGAIN
				raised[me] = true;
#endif
				printf("the servers carry out a heartbeat of candidate %d\n", me)
			:: own[me] && kind[slot] == MAKES && !beats[me] ->
				beat[slot] = CARRIED_OUT;
				beats[me] = true;
				printf("the servers make the heartbeat node of candidate %d\n", me)
#ifdef MADE_AGAIN
			:: own[me] && kind[slot] == RAISES && !beats[me] ->
				beat[slot] = CARRIED_OUT;
				beats[me] = true;
				printf("the servers make the heartbeat node of candidate %d again\n", me)
#endif
			:: else ->
				loseBeat(slot);
				printf("the servers refuse a heartbeat of candidate %d\n", me)
			fi
		}
	:: d_step { beat[slot] == CARRIED_OUT ->
			printf("candidate %d gets the reply of a heartbeat\n", me);
			made[me] = (kind[slot] == MAKES -> MADE : made[me]);
			mayActFor(beaten[slot]);
			dropBeat(slot)
		}

	/* The heartbeat is lost before that, or its reply is lost after that. */
	:: d_step { beat[slot] != 0 ->
			loseBeat(slot);
			printf("candidate %d loses a heartbeat\n", me)
		}
	od
}

/* The servers' handling of a candidate's claim, and the end of its nodes. */
#define mayFail (faults > 0 && own[me] && does[me] < DEAD && (does[me] != WAITS || seen[me] != 0 || holder == me))
proctype Fate(byte me)
{
end:
	do
	:: d_step { claim[me] == SENT ->
			if
			:: succeeds -> commitClaim()
			:: else ->
				printf("the servers refuse the claim of candidate %d\n", me);
				if
				:: does[me] == DEAD -> dropTerm()
				:: else -> waitOn()
				fi
			fi
		}

	/* The candidate's session ends, or an operator deletes its own node. */
	:: d_step { mayFail -> faults--; removeNodes(me); printf("the node of candidate %d goes\n", me) }

	/* An operator deletes a leader's heartbeat node. */
	:: d_step { mayFail && holder == me && beats[me] ->
			faults--;
			beats[me] = false;
			if
			:: mayComeAgain(me)
			:: else -> outdate(me)
			fi;
			printf("the heartbeat node of candidate %d goes\n", me)
		}

	/* The candidate's process dies. Its claim may still be carried out, and its nodes stay until the servers end its session. */
	:: d_step { mayFail ->
			faults--;
			does[me] = DEAD;
			made[me] = 0;
			dropLeases();
			if
			:: claim[me] != SENT -> dropTerm()
			:: else
			fi;
			printf("candidate %d dies\n", me)
		}
#ifndef DEAD_SESSIONS_STAY
	:: d_step { does[me] == DEAD && own[me] ->
			removeNodes(me);
			dropTerm();
			disown();
			printf("the servers end the session of candidate %d\n", me)
		}
#endif
	od
}

/* Time may pass at any moment, as long as a lease or a delay isn't over. */
#if BEATS == 1
#define isBeating(i) (beaten[i] > 0)
#else
#define isBeating(i) (beaten[i] > 0 || beaten[N + (i)] > 0)
#endif
#define lasts(i) (lease[i] > 0 || claimed[i] > 0 || isBeating(i) || count[i] > IS_OVER || sinceGone[i] > IS_OVER)
#if CANDIDATES == 2
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
				pass(claimed[w], 0);
				pass(count[w], IS_OVER);
				pass(sinceGone[w], IS_OVER);
#ifdef T_FROM_SENDING
				pass(sinceAsked[w], IS_OVER);
#endif
#ifdef T_OF_GONE
				pass(sinceSeen[w], IS_OVER);
#endif
			}
			/* A heartbeat whose lease is over is useless to its sender. But it may still create the node. */
			for (w : 1 .. SLOTS - 1) {
				pass(beaten[w], 0);
				if
				:: beaten[w] == 0 && !(beat[w] == SENT && kind[w] == MAKES) -> dropBeat(w)
				:: else
				fi
			}
			w = 0
		}
	od
}

/* Faults may stop at any moment. Otherwise a candidate that waits for ever would count as waiting for a fault that sets it free. */
proctype Calm()
{
end:
	do
	:: d_step { faults > 0 -> faults = 0 }
	od
}

init {
	atomic {
		for (w : 1 .. N) {
			own[w] = true;
			run Candidate(w);
			run Heartbeats(w, w);
#if BEATS == 2
			run Heartbeats(w, N + w);
#endif
			run Fate(w)
		}
		w = 0;
		run Time();
		run Calm()
	}
}

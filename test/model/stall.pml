/*
 * The repeats of heartbeats by a thread. While the main thread of a process stands still, a thread beside it sends the newest heartbeat of
 * the main thread again, for a term that the process holds. `npm run model` searches all states. README.md says what the model leaves out,
 * and src/session/connection-thread/README.md has the argument.
 *
 * There are two candidates, and the servers carry a request out at any time after its sending, or never. The steps, the record and the
 * simplifications are those of proof.pml: only a candidate that the record names sends proofs, which check the record at the version of the
 * term, a lease begins with the sending of a proof or of a claim, no version has a number, and a committed proof gives its lease at once.
 * New is that a process has several threads:
 * - The main thread may stand still between any two of its steps, for any time. It does all but the repeats.
 * - The thread repeats heartbeats. It may do so whether or not the main thread stands still, as long as the rules let it.
 * - Other threads act by the cell of a term. They read it at any time, and they go on while the main thread stands still.
 */

#define N 2
#define other(i) (3 - (i))

/* The candidates that have a thread: 1, or both. */
#ifndef THREADS
#define THREADS 1
#endif
#define hasThread(i) ((i) <= THREADS)

/* The most that happens in one execution. */
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef AGAIN
#define AGAIN 1 /* candidates that join again */
#endif

/* In ticks: a lease, the delay before a takeover, and for how long the main thread may stand still (`maxStallMs`). */
#ifndef LEASE
#define LEASE 2
#endif
#define DELAY LEASE
#ifndef STALL
#define STALL 3
#endif

/*
 * 1: all that can act does so within a tick, and the servers answer within a tick. Only main threads stand still, and releases get lost. Then
 * the search can ask what happens in time. 0: everything may be slow, or be lost.
 */
#ifndef PROMPT
#define PROMPT 0
#endif

/* The promises. The first four must hold always, the other four if all are prompt. */
#define ONE_ACTS 1       /* two candidates never act at once */
#define TERM_IS_NEWEST 2 /* a candidate acts only while the record names it */
#define LEASE_IS_OVER 3  /* a term that wasn't released ends only after its leader's lease */
#define FALSE_STAYS 4    /* a cell that has said that the term isn't held says so for ever */
#define KEPT 5           /* the lease of a term ends only if its main thread has stood still for the bound */
#define SETTLED 6        /* a term is taken over from unsettled work only if the main thread has stood still for the bound */
#define TAKEN_OVER 7     /* a term is taken over after the delay if its main thread has stood still for the bound */
#define NOT_IDLE 8       /* a term is taken over after the delay if it has no work, and its main thread stands still */
#ifdef ONLY
#define promise(which, what) assert((which) != ONLY || (what))
#else
#define promise(which, what) assert(what)
#endif

/* The states of a candidate. */
#define WAITS 0   /* also while its claim is under way, and until it knows that the record names it */
#define LEADS 1   /* the term has begun in the main thread, and its cell is made */
#define SETTLES 2 /* the term has ended in the main thread, and its work goes on */
#define GIVES 3   /* the work has settled, and the release is written */
#define GONE 4    /* it has no nodes */

/* What a candidate has observed. 0: nothing that counts. */
#define VERSION 1 /* the newest version of the other's heartbeat node */
#define NO_NODE 2 /* that the own node of the candidate that the record names is gone */
#define AHEAD 3   /* a version that comes again with the next write, because the servers have lost a write */

/* The record. */
bool held;
byte holder; /* the candidate that the record names; 0 if its nodes are gone and it has joined again, or if the record is vacant */

/* The candidates, from 1 on. Holder 0 has no nodes. */
byte does[N + 1];
bool own[N + 1];    /* the own node exists */
bool beats[N + 1];  /* the heartbeat node exists */
byte lease[N + 1];  /* the ticks that the lease lasts, by the cell */
bool over[N + 1];   /* the cell has a reason why the term is over */
bool told[N + 1];   /* the cell has said that the term isn't held */
byte claim[N + 1];  /* 1 + the ticks of the lease that the claim under way would give; 0: no claim is under way */
byte proof[N + 1];  /* the ticks of the lease that the main thread's heartbeat would give; 0: none is under way */
byte again[N + 1];  /* the same for a repeat */
bool sent[N + 1];   /* the release is under way */
byte look[N + 1];   /* what the candidate has observed */
byte left[N + 1];   /* the ticks of the delay that are left since then */
bool still[N + 1];  /* the main thread stands still */
byte stood[N + 1];  /* for how many ticks */
bool back[N + 1];   /* the servers have lost the newest version of the heartbeat node: the next one isn't above the last answer */
#if PROMPT
byte idle[N + 1];   /* for how many ticks a term should have been taken over */
bool late[N + 1];   /* the main thread has stood still for the bound since the newest lease began */
#define setLate(i, what) late[i] = what
#else
#define setLate(i, what) skip
#endif

byte faults = FAULTS, joins = AGAIN;
hidden byte w; /* used only within a step */

/* State that only variants need. */
#ifdef REPEATS_CREATION
bool raised[N + 1]; /* the heartbeat node has another version than its first one, which comes again if the node is made again */
#define setRaised(i, what) raised[i] = what
#else
#define setRaised(i, what) skip
#endif
#ifdef REPEATS_CLAIM
bool unanswered[N + 1]; /* the main thread has handled no answer to its claim */
#define setUnanswered(i, what) unanswered[i] = what
#else
#define setUnanswered(i, what) skip
#endif
#ifdef LEASE_FROM_REPLY
bool reply[N + 1]; /* the reply to a repeat is under way */
#define setReply(i, what) reply[i] = what
#else
#define setReply(i, what) skip
#endif
#ifdef RAISED_BY_OTHERS
byte count[N + 1]; /* the ticks since the counter has moved */
#define unmoved(i) count[i]
#else
#define unmoved(i) stood[i]
#endif

/* What any thread of the process asks before it acts. */
#ifdef NO_REASON
#define isHeld(i) (does[i] >= LEADS && does[i] <= GIVES && lease[i] > 0)
#else
#define isHeld(i) (does[i] == LEADS && lease[i] > 0 && !over[i])
#endif
inline checkActs()
{
	promise(ONE_ACTS, !(isHeld(1) && isHeld(2)));
	promise(TERM_IS_NEWEST, (!isHeld(1) || (held && holder == 1)) && (!isHeld(2) || (held && holder == 2)));
	promise(FALSE_STAYS, !(told[1] && isHeld(1)) && !(told[2] && isHeld(2)))
}

#define isFree(i) (does[i] == WAITS && own[i] && holder != (i) && claim[i] == 0)
#define takesOver(i) (held && holder == other(i) && look[i] == VERSION)
#define isOutlasted(i) (left[i] == 0 && (takesOver(i) || look[i] == NO_NODE))
#define mayRaise(i) (own[i] && beats[i])
#define mayProve(i) (mayRaise(i) && holder == (i))

/* The heartbeat node has a newer version, or is gone. What the other has observed leads to no claim that is carried out. */
inline outdate(i)
{
	if
	:: look[other(i)] == VERSION || look[other(i)] == AHEAD ->
		claim[other(i)] = (takesOver(other(i)) -> 0 : claim[other(i)]);
		look[other(i)] = 0;
		left[other(i)] = 0
	:: else
	fi
}

inline raise(i)
{
	if
	:: back[i] && look[other(i)] == AHEAD -> look[other(i)] = VERSION /* That version comes again. */
	:: else -> outdate(i)
	fi;
	setRaised(i, true)
}

inline removeNodes(i)
{
	outdate(i);
	own[i] = false;
	beats[i] = false;
	back[i] = false
}

/* The servers refuse the claims, proofs and repeats that were sent for the former record. The end of its holder is of no use any more. */
inline writeRecord(next)
{
	held = (next != 0);
	holder = next;
	for (w : 1 .. N) {
		claim[w] = 0;
		proof[w] = 0;
		again[w] = 0;
		if
		:: look[w] == NO_NODE -> look[w] = 0; left[w] = 0
		:: else
		fi
	}
	w = 0
}

inline getLease(i, ticks)
{
	lease[i] = (lease[i] < ticks -> ticks : lease[i]);
	setLate(i, false);
	checkActs()
}

inline create(i)
{
	own[i] = true;
	beats[i] = true;
	setRaised(i, false)
}

/* The main thread. */
#define runs(i) (!still[i])
proctype Main(byte me)
{
end:
	do
	:: d_step { runs(me) && isFree(me) && own[other(me)] && held && holder == other(me) && look[me] == 0 ->
			look[me] = VERSION;
			left[me] = DELAY;
			printf("candidate %d sees the version of candidate %d\n", me, other(me))
		}
	:: d_step { runs(me) && isFree(me) && held && !own[holder] && look[me] != NO_NODE ->
			look[me] = NO_NODE;
			left[me] = DELAY;
			printf("candidate %d sees that the leader's node is gone\n", me)
		}
	:: d_step { runs(me) && isFree(me) && (!held || isOutlasted(me)) ->
			claim[me] = LEASE + 1;
			setUnanswered(me, true);
			printf("candidate %d sends a claim\n", me)
		}
	:: d_step { runs(me) && does[me] <= SETTLES && mayProve(me) && proof[me] == 0 ->
			proof[me] = LEASE;
			printf("candidate %d sends a heartbeat\n", me)
		}

	/* It knows that the record names it: by the answer to its claim, or by a read after a handover. Without a lease it sends a proof first. */
	:: d_step { runs(me) && does[me] == WAITS && holder == me && lease[me] > 0 ->
			does[me] = LEADS;
			setUnanswered(me, false);
			look[me] = 0;
			left[me] = 0;
			printf("candidate %d begins its term\n", me);
			checkActs()
		}
	/* It resigns, or sees that its lease is over. */
	:: d_step { runs(me) && does[me] == LEADS && own[me] ->
			does[me] = SETTLES;
			over[me] = true;
			told[me] = false;
			printf("candidate %d ends its term\n", me)
		}
	:: d_step { runs(me) && does[me] == SETTLES && own[me] ->
			does[me] = GIVES;
			sent[me] = true;
			proof[me] = 0;
			printf("the work of candidate %d has settled, and it sends its release\n", me)
		}
	:: d_step { runs(me) && does[me] == GIVES && own[me] && !sent[me] ->
			sent[me] = true;
			printf("candidate %d sends its release again\n", me)
		}

#if !PROMPT
	/* Its heartbeat node is gone. It can't prove its node any more, and gives up its place. */
	:: d_step { runs(me) && does[me] == WAITS && own[me] && !beats[me] && holder != me ->
			removeNodes(me);
			printf("candidate %d can't prove its node, and leaves\n", me)
		}
#endif
	/* It learns that its own node is gone. What was sent for that node will be refused. */
	:: d_step { runs(me) && does[me] != GONE && !own[me] ->
			does[me] = GONE;
			lease[me] = 0;
			setLate(me, false);
			over[me] = false;
			told[me] = false;
			proof[me] = 0;
			again[me] = 0;
			claim[me] = 0;
			setUnanswered(me, false);
			setReply(me, false);
			sent[me] = false;
			look[me] = 0;
			left[me] = 0;
			holder = (holder == me -> 0 : holder);
			printf("candidate %d has no node any more\n", me)
		}
	:: d_step { runs(me) && does[me] == GONE && joins > 0 ->
			joins--;
			does[me] = WAITS;
			create(me);
			printf("candidate %d joins again\n", me)
		}

	:: d_step { hasThread(me) && runs(me) -> still[me] = true; printf("the main thread of candidate %d stands still\n", me) }
	:: d_step { hasThread(me) && still[me] ->
			still[me] = false;
			stood[me] = 0;
#if PROMPT
			idle[me] = 0;
#endif
#ifdef RAISED_BY_OTHERS
			count[me] = 0;
#endif
			printf("the main thread of candidate %d goes on\n", me)
		}
	od
}

/* For what the thread repeats the newest heartbeat. */
#if defined(REPEATS_NOTHING)
#define isRepeatedFor(i) false
#elif defined(REPEATS_UNBEGUN)
#define isRepeatedFor(i) (does[i] == LEADS || does[i] == SETTLES || (does[i] == WAITS && holder == (i)))
#elif defined(REPEATS_CLAIM)
#define isRepeatedFor(i) (does[i] == LEADS || does[i] == SETTLES || (does[i] == WAITS && unanswered[i]))
#elif defined(REPEATS_RELEASED)
#define isRepeatedFor(i) (does[i] >= LEADS && does[i] <= GIVES)
#elif defined(ENDS_WITH_TERM)
#define isRepeatedFor(i) (does[i] == LEADS)
#elif defined(ENDS_WITH_LEASE)
#define isRepeatedFor(i) ((does[i] == LEADS || does[i] == SETTLES) && !over[i])
#else
#define isRepeatedFor(i) (does[i] == LEADS || does[i] == SETTLES)
#endif
#ifdef NO_BOUND
#define hasTurned(i) true
#else
#define hasTurned(i) (unmoved(i) < STALL)
#endif
#ifdef REPEATS_CREATION
#define isOfUse(i) (own[i] && holder == (i))
#else
#define isOfUse(i) mayProve(i)
#endif
#define mayRepeat(i) (hasThread(i) && isRepeatedFor(i) && hasTurned(i) && isOfUse(i) && proof[i] == 0 && again[i] == 0)

/* The threads beside the main thread. */
proctype Threads(byte me)
{
end:
	do
	:: d_step { mayRepeat(me) -> again[me] = LEASE; printf("the thread of candidate %d repeats the heartbeat\n", me) }
#ifdef RAISED_BY_OTHERS
	:: d_step { count[me] > 0 -> count[me] = 0; printf("a thread of candidate %d raises the counter\n", me) }
#endif

	/* Any thread reads the cell. */
	:: d_step { does[me] == LEADS && lease[me] == 0 && !told[me] ->
			told[me] = true;
#ifndef FALSE_PASSES
			over[me] = true;
#endif
			printf("the cell of candidate %d says that the term is over\n", me)
		}
	od
}

/* A term ends by the other's claim. */
inline endTerm()
{
	promise(LEASE_IS_OVER, !held || holder == 0 || !isHeld(holder));
#if PROMPT
	promise(SETTLED, !held || does[holder] != SETTLES || late[holder]);
#endif
	if
	:: takesOver(me) -> removeNodes(holder)
	:: else
	fi
}

proctype Servers(byte me)
{
end:
	do
	:: d_step { proof[me] != 0 && mayProve(me) ->
			printf("the servers carry out a heartbeat of candidate %d\n", me);
			raise(me);
			if
			:: back[me] -> back[me] = false
			:: else -> getLease(me, proof[me])
			fi;
			proof[me] = 0
		}
	:: d_step { again[me] != 0 && mayProve(me) ->
			printf("the servers carry out a repeat of candidate %d\n", me);
#ifdef REPEATS_CHECK
			getLease(me, again[me]);
#else
			raise(me);
			if
#if !defined(BACK_COUNTS) && !defined(BACK_CUTS)
			:: back[me] -> back[me] = false
#endif
			:: else ->
				back[me] = false;
#ifdef LEASE_FROM_REPLY
				reply[me] = true
#else
				getLease(me, again[me])
#endif
			fi;
#endif
			again[me] = 0
		}
#ifdef LEASE_FROM_REPLY
	:: d_step { reply[me] -> reply[me] = false; getLease(me, LEASE); printf("the reply to a repeat of candidate %d arrives\n", me) }
#endif
#ifdef REPEATS_CREATION
	:: d_step { again[me] != 0 && isOfUse(me) && !beats[me] ->
			printf("the servers make the heartbeat node of candidate %d again\n", me);
			beats[me] = true;
			setRaised(me, false);
			look[other(me)] = (look[other(me)] == AHEAD -> VERSION : look[other(me)]);
			getLease(me, again[me]);
			again[me] = 0
		}
#endif
	:: d_step { claim[me] != 0 && mayRaise(me) && (!takesOver(me) || own[holder]) ->
			endTerm();
			printf("the servers carry out the claim of candidate %d\n", me);
			raise(me);
			if
			:: back[me] -> back[me] = false
			:: else -> getLease(me, claim[me] - 1)
			fi;
			claim[me] = 0;
			writeRecord(me);
			checkActs()
		}
	:: d_step { does[me] == GIVES && sent[me] && own[me] ->
			removeNodes(me);
			writeRecord(0);
			printf("the servers carry out the release of candidate %d\n", me)
		}
	:: d_step { does[me] == GIVES && sent[me] && own[me] && does[other(me)] == WAITS && own[other(me)] ->
			removeNodes(me);
			writeRecord(other(me));
			printf("the servers carry out that candidate %d hands its term over to candidate %d\n", me, other(me))
		}

#if PROMPT
	:: d_step { faults > 0 && sent[me] && own[me] -> faults--; sent[me] = false; printf("the release of candidate %d is lost\n", me) }
#else
	:: d_step { sent[me] && own[me] -> sent[me] = false; printf("the release of candidate %d is lost\n", me) }
	:: d_step { proof[me] != 0 -> proof[me] = 0; printf("candidate %d loses a heartbeat\n", me) }
	:: d_step { again[me] != 0 -> again[me] = 0; printf("candidate %d loses a repeat\n", me) }
	:: d_step { claim[me] != 0 -> claim[me] = 0; printf("candidate %d loses a claim\n", me) }

	/* A session ends, a stranger deletes a node, or the servers lose the newest write of a heartbeat node. */
	:: d_step { faults > 0 && own[me] -> faults--; removeNodes(me); printf("the nodes of candidate %d go\n", me) }
	:: d_step { faults > 0 && mayRaise(me) ->
			faults--;
#ifdef REPEATS_CREATION
			if
			:: !raised[me] && look[other(me)] == VERSION -> look[other(me)] = AHEAD
			:: else -> outdate(me)
			fi;
#else
			outdate(me);
#endif
			beats[me] = false;
			printf("the heartbeat node of candidate %d goes\n", me)
		}
	:: d_step { faults > 0 && mayRaise(me) && !back[me] && look[other(me)] == VERSION ->
			faults--;
			back[me] = true;
			claim[other(me)] = 0;
#ifdef BACK_CUTS
			look[other(me)] = 0;
			left[other(me)] = 0;
#else
			look[other(me)] = AHEAD;
#endif
			printf("the servers lose the newest version of candidate %d\n", me)
		}
#endif
	od
}

/* Nothing that can be done at once is left undone while a tick passes. */
#if PROMPT
#define isBehind(i) (does[i] <= SETTLES && mayProve(i) && lease[i] < LEASE)
#define mayStep(i) ((does[i] == WAITS && holder == (i) && lease[i] > 0) || (does[i] == GIVES && own[i] && !sent[i]) || (does[i] != GONE && !own[i]))
#define mayLook(i) (held && ((own[holder] && look[i] == 0) || (!own[holder] && look[i] != NO_NODE)))
#define mayClaim(i) (!held || isOutlasted(i))
#define isUnderWay(i) (proof[i] != 0 || again[i] != 0 || claim[i] != 0 || (sent[i] && own[i]))
#define due(i) \
	(isUnderWay(i) || (mayRepeat(i) && lease[i] < LEASE) || \
		(runs(i) && (isBehind(i) || mayStep(i) || (isFree(i) && (mayLook(i) || mayClaim(i))))))
#define mayPass (!due(1) && !due(2))

#define isAtWork(i) (does[i] == LEADS || does[i] == SETTLES)
#define isWaitedFor(i) (held && holder == (i) && still[i] && does[other(i)] == WAITS && own[other(i)] && runs(other(i)))
#define shouldGo(i) (isWaitedFor(i) && (stood[i] >= STALL || !isAtWork(i)))
#else
#define mayPass true
#endif

#define pass(ticks, last) ticks = (ticks > last -> ticks - 1 : ticks)
#define lasts(i) (lease[i] > 0 || proof[i] > 0 || again[i] > 0 || claim[i] > 1 || left[i] > 0 || (still[i] && stood[i] < STALL))
#if PROMPT
#define matters (lasts(1) || lasts(2) || shouldGo(1) || shouldGo(2))
#else
#define matters (lasts(1) || lasts(2))
#endif
proctype Time()
{
end:
	do
	:: d_step { matters && mayPass ->
			printf("time passes: a tick\n");
			for (w : 1 .. N) {
#if PROMPT
				idle[w] = (shouldGo(w) -> idle[w] + 1 : 0);
				promise(TAKEN_OVER, !isAtWork(w) || idle[w] <= DELAY);
				promise(NOT_IDLE, isAtWork(w) || idle[w] <= DELAY);
				idle[w] = (idle[w] > DELAY -> DELAY : idle[w]);
#endif
				stood[w] = (still[w] && stood[w] < STALL -> stood[w] + 1 : stood[w]);
#ifdef RAISED_BY_OTHERS
				count[w] = (still[w] && count[w] < STALL -> count[w] + 1 : count[w]);
#endif
#if PROMPT
				late[w] = (stood[w] == STALL -> true : late[w]);
				promise(KEPT, does[w] != LEADS || lease[w] != 1 || late[w]);
#endif
				pass(lease[w], 0);
				pass(proof[w], 0);
				pass(again[w], 0);
				pass(claim[w], 1);
				pass(left[w], 0)
			}
			w = 0
		}
	od
}

init {
	atomic {
		for (w : 1 .. N) {
			create(w);
			run Main(w);
			run Threads(w);
			run Servers(w)
		}
		w = 0;
		run Time()
	}
}

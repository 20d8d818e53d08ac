/*
 * Conclave's recipe: join, wait for the node ahead, claim, lead, hand the term over. The model has lost replies, expired sessions,
 * crashed processes, stopped candidates, and candidates that lead out of turn. `npm run model` searches all its states.
 * README.md says what the model leaves out, and why that hides nothing.
 *
 * A step of a process is one request as the servers carry it out, or the arrival of one reply. Between any two steps of one
 * process the other processes may take any number of steps. A slow network, a server that lags behind and a suspended process
 * look like that, too.
 */

/* The number of candidates. Code that names each candidate names three. */
#define N 3

/* The most that happens in one execution. */
#ifndef FAULTS
#define FAULTS 1 /* expired sessions and crashed processes */
#endif
#ifndef LOSSES
#define LOSSES 1 /* connections that are lost while a create or a claim is under way */
#endif
#ifndef STOPS
#define STOPS 1 /* candidates that are stopped while they don't lead */
#endif
#ifndef CALLS
#define CALLS 1 /* candidates that are chosen to lead out of turn, or that change the data of their node */
#endif
#ifndef AGAIN
#define AGAIN 1 /* leaders that join again after they released their term */
#endif

/* Each passage through the queue creates one node. A recipe that fails creates one more node for each lost reply. */
#define NODES (N + FAULTS + AGAIN + LOSSES)
#define MOST_NODES 10 /* nobodyAhead, hasNode and isAlone name this many nodes */
#if NODES > MOST_NODES
#error "too many nodes"
#endif

/*
 * The promises. Each must hold wherever the model asserts it. If a variant serves to break one promise, its search looks for that
 * promise alone, and ignores any other promise that the variant breaks.
 */
#define TURN_IS_FIRST 1
#define NODE_IS_OURS 2
#define ONE_ACTS 3
#define TERMS_RISE 4
#define RECORD_IS_OURS 5
#define NOTHING_LEFT 6
#define NOTHING_HELD 7
#ifdef ONLY
#define promise(which, what) assert((which) != ONLY || (what))
#else
#define promise(which, what) assert(what)
#endif

/*
 * The queue. A node's number is its sequence number. by[n] is the candidate that owns node n. It is 0 if there is no such node, and
 * N + i for a ghost of candidate i: the node of a session whose process has died, while the servers take the session for alive.
 */
byte by[MOST_NODES + 2];
byte last;

/* The record. */
bool held;
byte term;
byte version;
byte holder; /* the node that claimed the term, or was handed it */

/* The marked node: its data say that it was handed the term out of turn. At most one existing node is marked: a node leads once. */
byte mark;
#ifdef MARK_BEFORE
#define MARK_ALONE
#endif
#ifdef MARK_ALONE
byte markTerm; /* the term that the mark names */
#endif

/* The candidates, from 1 on. */
bool expired[N + 1];  /* the candidate's session is over, and the candidate doesn't know */
byte own[N + 1];      /* the candidate's node, once the candidate knows it */
byte watch[N + 1];    /* the node that the candidate watches; 0 after the notification of that node's end */
bool late[N + 1];     /* the candidate's create is under way on a lost connection */
bool underWay[N + 1]; /* the candidate's claim is under way, at the record's version */
bool leads[N + 1];    /* the candidate has a term, and the work of the term hasn't settled */
bool lease[N + 1];    /* the lease of the candidate's node lasts */
bool come[N + 1];     /* the candidate has had a node, or never will have one */

/* The node to which a leader hands over, as the leader read it. CHANGED if the node has changed since; 0 if the leader knows none. */
byte successor[N + 1];
#define CHANGED (MOST_NODES + 1)
bool inTurn[N + 1]; /* the successor is the first of the others: it waits for the leader's node, and needs no mark on its own */

byte finished;

byte faults = FAULTS, losses = LOSSES, stops = STOPS, calls = CALLS, again = AGAIN;

byte lastTerm;    /* the term of the candidate that began to act last */
hidden byte n, w; /* used only within a step */

/* A candidate acts while it has a term and its lease lasts: it asks the lease before every act. */
#define acts(i) (leads[i] && lease[i])
#define idle(i) (me == (i) || !acts(i))
#define nobodyElseActs (idle(1) && idle(2) && idle(3))

#define isAhead(node) ((node) < own[me] && exists(node))
#define nobodyAhead \
	(!(isAhead(1) || isAhead(2) || isAhead(3) || isAhead(4) || isAhead(5) || isAhead(6) || isAhead(7) || isAhead(8) || \
	   isAhead(9) || isAhead(10)))
#define hasNode(i) \
	(by[1] == (i) || by[2] == (i) || by[3] == (i) || by[4] == (i) || by[5] == (i) || by[6] == (i) || by[7] == (i) || \
	 by[8] == (i) || by[9] == (i) || by[10] == (i))
#define isOther(node) ((node) != own[me] && exists(node))
#define isAlone \
	(!(isOther(1) || isOther(2) || isOther(3) || isOther(4) || isOther(5) || isOther(6) || isOther(7) || isOther(8) || \
	   isOther(9) || isOther(10)))
#define exists(node) (by[node] != 0)
#define isGhost(node) (by[node] > N)

/*
 * A leader's lease counts from the sending of its newest committed proof, so the node existed and the record named the leader at that
 * time. A candidate outlasts the lease if it sees that the node is gone, and then waits for longer than a lease. In this model the wait
 * ends when the lease has ended. That is enough because a candidate has one node at a time.
 */
#define maySpend(i, node) (lease[i] && own[i] == (node))
#define outlasted(node) (!maySpend(1, node) && !maySpend(2, node) && !maySpend(3, node))

#ifdef MARK_ALONE
#define setMark(node, number) \
	mark = node; \
	markTerm = number
#else
#define setMark(node, number) mark = node
#endif

/* A node is deleted, and the candidates that watch it are notified: each watch once. */
inline remove(node)
{
	by[node] = 0;
	if
	:: mark == (node) -> setMark(0, 0)
	:: else
	fi;
	for (w : 1 .. N) {
		if
		:: watch[w] == node -> watch[w] = 0
		:: else
		fi
	}
	w = 0
}

/* All nodes of one owner are deleted. */
inline removeAll(owner)
{
	for (n : 1 .. NODES) {
		if
		:: by[n] == owner -> remove(n)
		:: else
		fi
	}
	n = 0
}

/* A process dies. Its nodes become ghosts. */
inline haunt()
{
	faults--;
	late[me] = false;
	underWay[me] = false;
	printf("candidate %d dies, or drops its session\n", me);
	for (n : 1 .. NODES) {
		if
		:: by[n] == me -> by[n] = N + me
		:: else
		fi
	}
	n = 0
}

/* All candidates are alike, so the first to come may be called candidate 1. That leaves a sixth of the states. */
#define mayCome(i) ((i) == 1 || (come[1] && ((i) == 2 || come[2])))

/* The servers create a candidate's node at the end of the queue. */
inline enqueue(i)
{
	last++;
	by[last] = i;
	come[i] = true;
	printf("the servers create node %d for candidate %d\n", last, i)
}

/* The servers write the record. They will refuse a claim that is under way at the former version. */
inline raiseVersion()
{
	version++;
	underWay[1] = false;
	underWay[2] = false;
	underWay[3] = false
}

/* The claim's transaction. */
inline carryOutClaim()
{
	held = true;
	holder = own[me];
	term++;
	raiseVersion();
	printf("the servers carry out a claim of candidate %d: term %d, version %d\n", me, term, version);
	lease[me] = true
}

/* The same, for a candidate that gets the reply next. */
inline commitClaim()
{
	promise(TERMS_RISE, claimed == term + 1);
	carryOutClaim();
	seen = version;
	ahead = 0;
	former = 0
}

/*
 * The record names the successor. If the successor isn't the first of the others, the same transaction marks the successor's node.
 * The handover begins no lease.
 */
#ifdef MARK_LATER
#define marksLater leads[me]
#else
#define marksLater false
#endif
inline handOver()
{
	promise(NOTHING_HELD, exists(successor[me]));
	held = true;
	holder = successor[me];
	term++;
	raiseVersion();
#ifndef NO_MARK
	if
	:: !inTurn[me] && !marksLater -> setMark(successor[me], term)
	:: else
	fi;
#endif
	printf("candidate %d hands over to node %d: term %d\n", me, successor[me], term)
}

/*
 * The release's transaction: at once, it writes the successor or a vacancy into the record and deletes the leader's node. If the
 * record isn't as the claim left it, only the node is deleted.
 */
#ifdef NO_CHECK
#define isRefused false
#else
#define isRefused (successor[me] != 0 && !exists(successor[me]))
#endif
inline commitRelease()
{
	promise(RECORD_IS_OURS, version == seen);
	if
	:: version == seen && successor[me] != 0 -> handOver()
	:: version == seen && successor[me] == 0 ->
		raiseVersion();
		held = false;
		printf("candidate %d releases: version %d\n", me, version)
	:: else
	fi;
	leads[me] = false; /* The work has settled before the release. */
	remove(own[me])
}

/*
 * The candidate changes the data of its node, so a leader that has read the former data may not mark the node. The candidate
 * doesn't overwrite a mark that it hasn't seen.
 */
#ifdef BLIND_CHANGE
#define mayChange (calls > 0)
#else
#define mayChange (calls > 0 && mark != own[me])
#endif
inline change()
{
	calls--;
#ifdef BLIND_CHANGE
	mark = (mark == own[me] -> 0 : mark);
#endif
	for (w : 1 .. N) {
		successor[w] = (successor[w] == own[me] && !inTurn[w] -> CHANGED : successor[w])
	}
	w = 0;
	printf("candidate %d changes its node\n", me)
}

/* The candidate that leads next: the first in the queue without the leader, or any other candidate that is chosen. */
#define isChosen(i) (successor[me] == own[i] && !inTurn[me])
#define canChoose(i) (calls > 0 && me != (i) && own[i] != 0 && exists(own[i]) && !isChosen(i))
inline choose(i)
{
	calls--;
	successor[me] = own[i];
	inTurn[me] = false;
	printf("candidate %d chooses candidate %d\n", me, i)
}
inline chooseFirst()
{
	for (n : 1 .. NODES) {
		if
		:: successor[me] == 0 && isOther(n) -> successor[me] = n
		:: else
		fi
	}
	n = 0;
	inTurn[me] = true;
	printf("candidate %d knows who is next: node %d\n", me, successor[me])
}
inline forgetSuccessor()
{
	successor[me] = 0;
	inTurn[me] = false
}

/* The candidate forgets what it knows of other candidates. */
inline forget()
{
	ahead = 0;
	more = false;
	claimed = 0;
	seen = 0;
	former = 0;
	forgetSuccessor();
#ifdef UNREAD_CLAIM
	guess = 0;
#endif
	watch[me] = 0
}

/* The candidate has no place in the queue any more, or leaves it. */
inline giveUp()
{
	own[me] = 0;
	leads[me] = false;
	lease[me] = false;
	underWay[me] = false;
#ifdef DEAF
	deaf = false;
#endif
#ifdef BLIND_CLAIM
	hasFailed = false;
#endif
	forget()
}

/* The candidate reads and watches a node in one request, which leaves a watch only on an existing node. */
inline watchFor(node)
{
	d_step {
		if
		:: exists(node) -> watch[me] = node; printf("candidate %d waits for node %d\n", me, node)
		:: else
		fi
	}
}

/* The candidate got the reply to its create, or found its node. */
inline joined()
{
	joining = false;
	joinedAfter = 0
}

/* The candidate's turn has come. */
#ifdef UNREAD_CLAIM
inline takeTurn()
{
	promise(TURN_IS_FIRST, nobodyAhead);
	if
	:: guess == 0 -> goto look
	:: else -> seen = guess; guess = 0; goto claim
	fi
}
#define predicts(node) (guess == 0 && held && holder == (node))
inline predictRecord()
{
	printf("candidate %d reads the record, and will claim version %d\n", me, version + 1);
	guess = version + 1;
	claimed = term + 1
}
#else
inline takeTurn()
{
	promise(TURN_IS_FIRST, nobodyAhead);
	goto look
}
#endif

/* The record, as the candidate read it, shows that the candidate holds the term. */
#ifdef BLIND_CLAIM
#define isOwn (holder == own[me] && !hasFailed)
#else
#define isOwn (holder == own[me])
#endif

/* The mark on the candidate's node says that the candidate was handed the term. */
#ifdef DEAF
#define isMarked (mark == own[me] && !deaf)
#else
#define isMarked (mark == own[me])
#endif

/* The servers carry out a proof only while its sender's node is there and the record has the version of its term. */
#define isProvable (exists(own[me]) && version == seen)

/* If the record hasn't changed since the candidate read it, the candidate doesn't hold the term. */
#ifdef PLAIN_LEAVE
#define mayLeave true
#else
#define mayLeave (version == seen)
#endif

/* The candidate is done. Its session may live on, but has left no node and no create behind. */
inline finish()
{
	promise(NOTHING_LEFT, !late[me] && !hasNode(me));
	come[me] = true;
	finished++
}

/* The candidate's term is over. The candidate joins again, or is done. */
inline standAgainOrNot()
{
	giveUp();
	if
	:: again > 0 -> again--; goto join
	:: finish(); goto done
	fi
}

/*
 * What may happen at every step. The candidate is notified that its session has expired. Until then it goes on, and the servers
 * refuse each write. Or the candidate's process dies. Its node then stays until the servers end the session.
 */
#define orTheEnd \
	:: atomic { expired[me] -> goto lost } \
	:: atomic { faults > 0 && !expired[me] -> haunt(); goto lost }

#define orStop \
	:: atomic { stops > 0 -> stops--; goto leave }

/* What may happen while a candidate waits: the mark on its node says that it was handed the term. */
#ifdef MARK_ALONE
#define orTheMark \
	:: atomic { isMarked -> forget(); seen = version; claimed = markTerm; goto handed }
#else
#define orTheMark \
	:: isMarked -> goto marked
#endif

proctype Candidate(byte me)
{
	byte joinedAfter; /* the candidate's nodes with a higher number have the uuid of this join */
	byte ahead;       /* the node that the candidate waits for */
	bool more;        /* there are other nodes ahead of that node */
	byte seen;        /* the version that the candidate has read, claims, has claimed, or was handed */
	byte claimed;     /* the term that the candidate claims, has claimed, or was handed */
	byte former;      /* the node whose term lasts, as the record said, or 0 */
#ifdef UNREAD_CLAIM
	byte guess; /* the version that a release will leave; 0 if the candidate doesn't know */
#endif
#ifdef DEAF
	bool deaf; /* the candidate doesn't watch its own node */
#endif
#ifdef BLIND_CLAIM
	bool hasFailed; /* the candidate's claim has got no reply */
#endif
	bool joining;

join:
	if
	:: atomic { !expired[me] && mayCome(me) -> enqueue(me); own[me] = last; joined(); goto queue }
	:: d_step {
			!expired[me] && losses > 0 ->
			losses--;
			late[me] = true;
			printf("candidate %d loses its connection: its create is under way\n", me);
			if
			:: !joining -> joining = true; joinedAfter = last
			:: else
			fi;
			n = 0
		}
#if defined(NO_UUID) || defined(NO_BARRIER)
	orTheEnd
#else
	:: atomic { faults > 0 -> faults--; goto lost } /* The candidate's process dies before it has a node. */
#endif
	fi;
#ifdef NO_UUID
	goto join;
#endif

#ifndef NO_BARRIER
	/* A committed write on a new connection. A request under way on the old connection has been carried out, or never will be. */
	if
	:: d_step { !expired[me] -> late[me] = false }
	orTheEnd
	fi;
#endif

lookUp:
	if
	:: atomic {
			!expired[me] ->
			for (n : joinedAfter + 1 .. NODES) {
				if
				:: by[n] == me -> own[me] = n
#ifdef ADOPT_GHOST
				:: by[n] == N + me -> own[me] = n
#endif
				:: else
				fi
			}
			if
			:: own[me] == 0 -> goto join
			:: else -> printf("candidate %d finds node %d\n", me, own[me]); joined(); goto queue
			fi
		}
	orTheEnd
	fi;

queue:
	/* One listing shows which candidates are ahead. */
	if
	:: atomic {
			forget();
			for (n : 1 .. NODES) {
				if
				:: isAhead(n) -> more = (ahead != 0); ahead = n
				:: else
				fi
			}
			if
			:: ahead == 0 -> promise(TURN_IS_FIRST, nobodyAhead); goto look
			:: else
			fi
		}
	orTheEnd
	fi;
#ifdef WATCH_GAP
	if
	:: exists(ahead)
	:: else -> goto queue
	fi;
	watch[me] = ahead;
	printf("candidate %d waits for node %d\n", me, ahead);
#else
	watchFor(ahead);
#endif

waiting:
	if
#ifdef SKIP_RECHECK
	:: atomic { watch[me] == 0 -> takeTurn() }
#else
	:: watch[me] == 0 && more -> goto queue
	:: atomic { watch[me] == 0 && !more -> takeTurn() }
#endif
#ifdef UNREAD_CLAIM
	:: d_step { !more && predicts(ahead) -> predictRecord() }
		goto waiting
#endif
#ifdef DEAF
	:: d_step { losses > 0 && !deaf -> losses--; deaf = true; printf("candidate %d loses its connection\n", me) }
		goto waiting
#endif
	:: d_step { exists(own[me]) && mayChange -> change() }
		goto waiting
	orTheMark
	orStop
	orTheEnd
	fi;

look:
	/* The candidate reads the record. */
	if
	:: atomic {
			forget();
			printf("candidate %d reads the record: term %d, version %d\n", me, term, version);
			seen = version;
			claimed = term + 1;
			if
			:: !held -> goto claim
			:: held && isOwn ->
				/* The candidate was handed the term, or its claim was carried out and the reply was lost. */
				claimed = term;
				goto handed
			:: held && !isOwn -> former = holder
			fi
		}
	orStop
	orTheEnd
	fi;
	/* Another request shows whether the holder's node exists. */
	if
	:: atomic { exists(former) -> ahead = former; goto behind }
	:: !exists(former)
	orTheEnd
	fi;
waitOut:
	/* An unclean end. The candidate may put another candidate, which has a higher priority, into the record. */
	if
	:: d_step { canChoose(1) -> choose(1) }
		goto waitOut
	:: d_step { canChoose(2) -> choose(2) }
		goto waitOut
	:: d_step { canChoose(3) -> choose(3) }
		goto waitOut
#ifndef NO_DELAY
	:: outlasted(former)
#else
	:: true
#endif
	orStop
	orTheEnd
	fi;

claim:
	if
	:: atomic { exists(own[me]) && version == seen && successor[me] == 0 -> commitClaim(); goto elected }
	:: atomic { exists(own[me]) && version == seen && successor[me] != 0 && !isRefused -> handOver(); goto look }
	:: exists(own[me]) && (version != seen || isRefused) -> goto look
	:: d_step { losses > 0 ->
			losses--;
			underWay[me] = (version == seen);
#ifdef BLIND_CLAIM
			hasFailed = true;
#endif
			printf("candidate %d gets no reply to its claim\n", me)
		}
	orTheEnd
	fi;

	/*
	 * The claim gets no reply. It may have been carried out, or may yet be, or never will be. After a barrier the candidate looks
	 * again. A candidate that is stopped leaves without a barrier.
	 */
	if
	:: d_step { !expired[me] -> underWay[me] = false }
		goto look
	orStop
	orTheEnd
	fi;

behind:
	watchFor(ahead);

waitingBehind:
	if
	:: atomic { watch[me] == 0 -> takeTurn() }
#ifdef UNREAD_CLAIM
	:: d_step { predicts(ahead) -> predictRecord() }
		goto waitingBehind
#endif
	:: d_step { exists(own[me]) && mayChange -> change() }
		goto waitingBehind
	orTheMark
	orStop
	orTheEnd
	fi;

#ifndef MARK_ALONE
marked:
	/* The mark is only a hint. The record decides whether the candidate holds the term. */
	if
	:: atomic {
			forget();
			printf("candidate %d reads that it was handed the term: term %d, version %d\n", me, term, version);
			if
			:: held && holder == own[me] -> seen = version; claimed = term
			:: else -> goto queue
			fi
		}
	orTheEnd
	fi;

#endif
handed:
	/* The record gives no lease. The candidate's own proof does, which the servers carry out only at the version of the record that it names. */
	if
	:: lease[me]
	:: d_step { !lease[me] && isProvable -> lease[me] = true; printf("candidate %d has a lease\n", me) }
	:: exists(own[me]) && version != seen -> goto queue
	orStop /* The candidate gives the term back. */
	orTheEnd
	fi;

elected:
	/* The reply to the claim arrives. */
	atomic {
		leads[me] = true;
		printf("candidate %d leads term %d\n", me, claimed);
		promise(NODE_IS_OURS, !isGhost(own[me]));
		if
		:: lease[me] ->
			promise(ONE_ACTS, nobodyElseActs);
			promise(TERMS_RISE, claimed > lastTerm);
			lastTerm = claimed
		:: else
		fi;
		claimed = 0
	}

leading:
	/* In the end, for any reason, the term ends, its work settles, and the leader hands the term over or makes the record vacant. */
	if
	:: d_step { successor[me] == 0 && !isAlone -> chooseFirst() }
		goto leading
	:: d_step { canChoose(1) -> choose(1) }
		goto leading
	:: d_step { canChoose(2) -> choose(2) }
		goto leading
	:: d_step { canChoose(3) -> choose(3) }
		goto leading
#ifdef MARK_BEFORE
	:: d_step { exists(successor[me]) && !inTurn[me] && mark != successor[me] -> setMark(successor[me], term + 1) }
		goto leading
#endif
	:: d_step { exists(own[me]) && isRefused ->
			forgetSuccessor();
			printf("the servers refuse a release of candidate %d\n", me)
		}
		goto leading
	:: atomic {
			exists(own[me]) && !isRefused ->
			commitRelease();
#ifndef MARK_LATER
			standAgainOrNot()
#endif
		}
	orTheEnd
	fi;

#ifdef MARK_LATER
	if
	:: d_step { exists(successor[me]) && !inTurn[me] -> setMark(successor[me], term) }
	:: !exists(successor[me]) || inTurn[me]
	orTheEnd
	fi;
	atomic { standAgainOrNot() }
#endif

leave:
	/* If the candidate holds the term, by a handover or by a claim that got no reply, it gives the term back. */
	if
	:: atomic { held && holder == own[me] -> forget(); seen = version; goto leading }
	:: d_step { !(held && holder == own[me]) -> seen = version }
	orTheEnd
	fi;
	/* The candidate deletes its node on condition that the record hasn't changed since it was read. */
	if
	:: atomic { exists(own[me]) && mayLeave ->
			promise(NOTHING_HELD, !(held && holder == own[me]));
			remove(own[me]);
			giveUp();
			finish();
			goto done
		}
	:: exists(own[me]) && !mayLeave -> goto leave
	orTheEnd
	fi;

lost:
	/* The candidate's work has stopped, or has died with the process. The candidate joins again with another session, or never. */
	atomic {
		giveUp();
		expired[me] = false;
		printf("candidate %d knows that its session is over\n", me);
#ifdef ADOPT_GHOST
		if
		:: joining -> goto lookUp
		:: else
		fi;
#endif
		joining = false;
		joinedAfter = 0;
		if
		:: goto join
		:: finish(); goto done
		fi
	}

done:
}

/* The actions of the servers and of time on a candidate. */
proctype Fate(byte me)
{
end:
	do
	/* The candidate's session expires. If an operator deletes its node, the effect is the same. */
	:: d_step { faults > 0 && !expired[me] && (late[me] || hasNode(me)) ->
			faults--;
			expired[me] = true;
			late[me] = false;
			underWay[me] = false;
			printf("the servers end the session of candidate %d\n", me);
			removeAll(me)
		}
	:: d_step { hasNode(N + me) ->
			printf("the servers end a former session of candidate %d\n", me);
			removeAll(N + me)
		}
	/* A create that was under way is carried out. */
	:: d_step { late[me] && mayCome(me) -> late[me] = false; enqueue(me) }
	/* A claim that was under way is carried out, or a handover in its place. */
	:: d_step { underWay[me] && exists(own[me]) && successor[me] == 0 -> carryOutClaim() }
	:: atomic { underWay[me] && exists(own[me]) && successor[me] != 0 && !isRefused -> handOver() }
	/* As long as the node is there and the record names it, proofs make the lease last. */
	:: d_step { lease[me] && !(exists(own[me]) && held && holder == own[me]) -> lease[me] = false; printf("the lease of candidate %d ends\n", me) }
	od
}

/* Faults may stop at any moment. Otherwise a candidate that waits for ever would count as waiting for a fault that sets it free. */
proctype Calm()
{
	d_step { faults = 0; losses = 0; stops = 0; calls = 0 }
}

init {
	atomic {
		run Candidate(1);
		run Candidate(2);
		run Candidate(3);
		run Fate(1);
		run Fate(2);
		run Fate(3);
		run Calm()
	}
}

/*
 * After the last fault no candidate is stopped any more, and a candidate in the queue can be done only after it has led. This
 * formula therefore says also that all these candidates lead in the end.
 */
ltl everybody_is_done { <> (finished == N) }

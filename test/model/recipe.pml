/*
 * Conclave's recipe: join, wait for the one ahead, claim, lead, hand the term over; with lost replies, expired sessions,
 * crashed processes, stopped candidates, and candidates that lead out of turn. `npm run model` searches all its states;
 * docs/model.md says what is left out, and why that hides nothing.
 *
 * A step of a process is one request as the servers carry it out, or the arrival of one reply. Between any two steps of one
 * process the others may take any number of theirs: that is also what a slow network, a server that lags behind and a
 * process that stands still look like.
 */

/* How many candidates there are. Where all of them are named, three are. */
#define N 3

/* How much happens in one run, at most. */
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
#define CALLS 1 /* candidates that are chosen to lead out of turn, or that change what their node says */
#endif
#ifndef AGAIN
#define AGAIN 1 /* leaders that join again after a term that they gave back */
#endif

/* Each passage through the queue makes one node. A recipe that fails makes one more for each lost reply. */
#define NODES (N + FAULTS + AGAIN + LOSSES)
#define MOST_NODES 10 /* as many as nobodyAhead, hasNode and isAlone name */
#if NODES > MOST_NODES
#error "too many nodes"
#endif

/*
 * What must hold wherever it is asked. A variant that is there to break one promise is searched for that one: whatever
 * else it breaks on the way is of no interest.
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
 * The queue. A node's number is its sequence number. by[n] is whose node it is, 0 if there is no such node, and N + i for a
 * ghost of candidate i: the node of a session that has died with its process, and that the servers take for alive.
 */
byte by[MOST_NODES + 2];
byte last;

/* The record. */
bool held;
byte term;
byte version;
byte holder; /* whose node claimed it, or was handed it */

/* The node that says that it was handed the term out of turn. At most one that is there does: a node leads once. */
byte mark;
#ifdef MARK_BEFORE
#define MARK_ALONE
#endif
#ifdef MARK_ALONE
byte markTerm; /* the term that it says */
#endif

/* The candidates, from 1 on. */
bool expired[N + 1];  /* its session is over, and it doesn't know */
byte own[N + 1];      /* its node, once it knows it */
byte watch[N + 1];    /* the node that it watches; 0 when it has been notified of its end */
bool late[N + 1];     /* its create is under way on a connection that is lost */
bool underWay[N + 1]; /* its claim is, at the record's version */
bool leads[N + 1];    /* it has a term, and the work of it hasn't settled */
bool lease[N + 1];    /* the lease of its node lasts */
bool come[N + 1];     /* it has had a node, or never will */

/* The node to which it hands over, as it was when it was read; CHANGED if it isn't so any more, and 0 if it knows none. */
byte successor[N + 1];
#define CHANGED (MOST_NODES + 1)
bool inTurn[N + 1]; /* that one is the first of the others, so it waits for the leader's node, and its own isn't written */

byte finished;

byte faults = FAULTS, losses = LOSSES, stops = STOPS, calls = CALLS, again = AGAIN;

byte lastTerm;    /* of the candidate that was the last to begin to act */
hidden byte n, w; /* only within steps */

/* Acting is asking the lease before every act. */
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
 * A leader's lease runs from the sending of its newest committed check of its node, so that node was there at that time.
 * A candidate that has seen the node gone and waits for longer than a lease lasts has outlasted it. Here that wait ends
 * when the lease has ended: a candidate has one node at a time.
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

/* A node goes, and its watchers are notified: each watch once. */
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

/* All the nodes of one owner go. */
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

/* The nodes of a process that dies. */
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

/* They are all alike: so the first to come may be called candidate 1, which leaves a sixth of the states. */
#define mayCome(i) ((i) == 1 || (come[1] && ((i) == 2 || come[2])))

/* The end of the queue is taken. */
inline enqueue(i)
{
	last++;
	by[last] = i;
	come[i] = true;
	printf("the servers create node %d for candidate %d\n", last, i)
}

/* The record is written: a claim that is under way at the version before will be refused. */
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

/* The same, for a candidate that is about to be answered. */
inline commitClaim()
{
	promise(TERMS_RISE, claimed == term + 1);
	carryOutClaim();
	seen = version;
	ahead = 0;
	former = 0
}

/*
 * The record is held by the successor, whose node says so, at once, if it isn't the first of the others. That begins no lease.
 * But its last heartbeat from before may have begun one that lasts.
 */
#define knows(i) (own[i] == successor[me])
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
	printf("candidate %d hands over to node %d: term %d\n", me, successor[me], term);
#ifndef NO_MARK
	if
	:: !inTurn[me] && !marksLater -> setMark(successor[me], term)
	:: else
	fi;
#endif
	if
	:: knows(1) -> lease[1] = true
	:: knows(2) -> lease[2] = true
	:: knows(3) -> lease[3] = true
	:: true
	fi
}

/*
 * The release's transaction: the record is the successor's, or vacant, and the node is gone, at once. If the record isn't as
 * the claim left it, the node goes alone.
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
#ifndef EARLY_RELEASE
	leads[me] = false; /* The work has settled before. */
#endif
	remove(own[me])
}

/* The candidate changes what its node says, so nobody who knew that may mark it. It doesn't overwrite a mark unseen. */
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

/* Who leads next: the first of the queue without the leader, or any other one that is chosen. */
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

/* What it knows of others counts no more. */
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

/* It has no place any more, or leaves it. */
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

/* Reading and watching is one request, which leaves a watch only on a node that is there. */
inline watchFor(node)
{
	d_step {
		if
		:: exists(node) -> watch[me] = node; printf("candidate %d waits for node %d\n", me, node)
		:: else
		fi
	}
}

/* Its create was answered, or found. */
inline joined()
{
	joining = false;
	joinedAfter = 0
}

/* Its turn has come. */
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

/* The record, as it was read, shows that it holds the term. */
#ifdef BLIND_CLAIM
#define isOwn (holder == own[me] && !hasFailed)
#else
#define isOwn (holder == own[me])
#endif

/* Its node says that it was handed the term. */
#ifdef DEAF
#define isMarked (mark == own[me] && !deaf)
#else
#define isMarked (mark == own[me])
#endif

/* It doesn't hold the term as long as the record is as it was when it was read. */
#ifdef PLAIN_LEAVE
#define mayLeave true
#else
#define mayLeave (version == seen)
#endif

/* Its session is there still, but nothing of it. */
inline finish()
{
	promise(NOTHING_LEFT, !late[me] && !hasNode(me));
	come[me] = true;
	finished++
}

/* Its term is over. */
inline standAgainOrNot()
{
	giveUp();
	if
	:: again > 0 -> again--; goto join
	:: finish(); goto done
	fi
}

/*
 * What may come between at every step. The session has expired, and the candidate is notified; meanwhile it goes on,
 * and each write is refused. Or its process dies: its node outlives it, until the servers end the session.
 */
#define orTheEnd \
	:: atomic { expired[me] -> goto lost } \
	:: atomic { faults > 0 && !expired[me] -> haunt(); goto lost }

#define orStop \
	:: atomic { stops > 0 -> stops--; goto leave }

/* What may come between while it waits: its node says that it was handed the term. */
#ifdef MARK_ALONE
#define orTheMark \
	:: atomic { isMarked -> forget(); seen = version; claimed = markTerm; goto handed }
#else
#define orTheMark \
	:: isMarked -> goto marked
#endif

proctype Candidate(byte me)
{
	byte joinedAfter; /* its nodes with a higher number have the uuid of this join */
	byte ahead;       /* the node that it waits for */
	bool more;        /* there are others ahead of that one */
	byte seen;        /* the version that it has read, claims, has claimed, or was handed */
	byte claimed;     /* the term that it claims, has claimed, or was handed */
	byte former;      /* whose term lasts, as the record said: a node, or 0 */
#ifdef UNREAD_CLAIM
	byte guess; /* the version that a release will leave; 0 if it doesn't know */
#endif
#ifdef DEAF
	bool deaf; /* nobody watches its node */
#endif
#ifdef BLIND_CLAIM
	bool hasFailed; /* its claim has got no reply */
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
	:: atomic { faults > 0 -> faults--; goto lost } /* Its process dies before it has a node. */
#endif
	fi;
#ifdef NO_UUID
	goto join;
#endif

#ifndef NO_BARRIER
	/* A committed write on a new connection: what the old one had under way has happened, or never will. */
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
	/* The record is read. */
	if
	:: atomic {
			forget();
			printf("candidate %d reads the record: term %d, version %d\n", me, term, version);
			seen = version;
			claimed = term + 1;
			if
			:: !held -> goto claim
			:: held && isOwn ->
				/* It was handed the term, or a claim whose reply was lost had been carried out. */
				claimed = term;
				goto handed
			:: held && !isOwn -> former = holder
			fi
		}
	orStop
	orTheEnd
	fi;
	/* Another request shows whether that one is there. */
	if
	:: atomic { exists(former) -> ahead = former; goto behind }
	:: !exists(former)
	orTheEnd
	fi;
waitOut:
	/* An unclean end. The record may be written as held by another candidate, which has a higher priority. */
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

	/* No reply, whether it was carried out, or will be, or not. After a barrier it looks again. Without one it leaves. */
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
	/* What its node says is a hint, and the record says whether it holds the term. */
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
	/* The record gives no lease: a heartbeat of its own does. */
	if
#ifdef RECORD_IS_LEASE
	:: lease[me] = true
#else
	:: lease[me]
	:: d_step { !lease[me] && exists(own[me]) -> lease[me] = true; printf("candidate %d has a lease\n", me) }
#endif
	orStop /* It gives the term back. */
	orTheEnd
	fi;

elected:
	/* The reply arrives. */
	atomic {
		leads[me] = true;
		printf("candidate %d leads term %d\n", me, claimed);
#ifdef LEASE_FROM_REPLY
		lease[me] = true;
#endif
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
	/* In the end, for whatever reason, its term ends, its work settles, and it gives the term to another one, or to nobody. */
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
#if !defined(EARLY_RELEASE) && !defined(MARK_LATER)
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
#ifdef EARLY_RELEASE
	atomic { standAgainOrNot() }
#endif

leave:
	/* If it holds the term, by a handover or by a claim that got no reply, it gives that back. */
	if
	:: atomic { held && holder == own[me] -> forget(); seen = version; goto leading }
	:: d_step { !(held && holder == own[me]) -> seen = version }
	orTheEnd
	fi;
	/* Its node is deleted with the record as it was read. */
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
	/* Its work is stopped, or has died with the process. It joins again, with another session, or never. */
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

/* What the servers do to a candidate, and time. */
proctype Fate(byte me)
{
end:
	do
	/* Its session expires. An operator that deletes its node does the same to it. */
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
	/* A create that was under way arrives. */
	:: d_step { late[me] && mayCome(me) -> late[me] = false; enqueue(me) }
	/* A claim does, or a handover in its place. */
	:: d_step { underWay[me] && exists(own[me]) && successor[me] == 0 -> carryOutClaim() }
	:: atomic { underWay[me] && exists(own[me]) && successor[me] != 0 && !isRefused -> handOver() }
	/* As long as the node is there, heartbeats make the lease last. */
	:: d_step { lease[me] && !exists(own[me]) -> lease[me] = false; printf("the lease of candidate %d ends\n", me) }
	od
}

/* Faults may stop at any moment. Without it, whatever stands still might be waiting for a fault to set it free. */
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
 * After the last fault no candidate is stopped any more, and a candidate in the queue can only be done by having led. So
 * this says also that all of them lead in the end.
 */
ltl everybody_is_done { <> (finished == N) }

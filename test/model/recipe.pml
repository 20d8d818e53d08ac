/*
 * Conclave's recipe: join, wait for the one ahead, claim, lead, release; with lost replies, expired sessions, crashed
 * processes, stopped candidates, and candidates that are called out of turn. `npm run model` searches all its states;
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
#define CALLS 1 /* candidates that are nominated, to lead out of turn */
#endif
#ifndef AGAIN
#define AGAIN 1 /* leaders that join again after a term that they gave back */
#endif

/* Each passage through the queue makes one node. A recipe that fails makes one more for each lost reply. */
#define NODES (N + FAULTS + AGAIN + LOSSES)
#define MOST_NODES 10 /* as many as nobodyAhead and hasNode name */
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
#ifdef ONLY
#define promise(which, what) assert((which) != ONLY || (what))
#else
#define promise(which, what) assert(what)
#endif

/*
 * The queue. A node's number is its sequence number. by[n] is whose node it is, 0 if there is no such node, and N + i for a
 * ghost of candidate i: the node of a session that has died with its process, and that the servers take for alive.
 */
byte by[MOST_NODES + 1];
byte last;

/* The record. */
bool held;
byte term;
byte version;
byte holder; /* whose node claimed it */
byte named;  /* the node that should lead next, if a release said so */

/* The candidates, from 1 on. */
bool expired[N + 1]; /* its session is over, and it doesn't know */
byte own[N + 1];     /* its node, once it knows it */
byte watch[N + 1];   /* the node that it watches; 0 when it has been notified of its end */
byte call[N + 1];    /* the request on its node: lead when that node is gone */
bool late[N + 1];    /* its create is under way on a connection that is lost */
bool leads[N + 1];   /* it has a term, and the work of it hasn't settled */
bool lease[N + 1];   /* the lease of its node lasts */
bool come[N + 1];    /* it has had a node, or never will */
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
#define exists(node) (by[node] != 0)
#define isGhost(node) (by[node] > N)

/*
 * A leader's lease runs from the sending of its newest committed check of its node, so that node was there at that time.
 * A candidate that has seen the node gone and waits for longer than a lease lasts has outlasted it. Here that wait ends
 * when the lease has ended: a candidate has one node at a time.
 */
#define maySpend(i, node) (lease[i] && own[i] == (node))
#define outlasted(node) (!maySpend(1, node) && !maySpend(2, node) && !maySpend(3, node))

/* A node goes, and its watchers are notified: each watch once. */
inline remove(node)
{
	by[node] = 0;
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

/* The claim's transaction. A claim over a held record writes it twice, so that held records have odd versions. */
inline commitClaim()
{
	promise(TERMS_RISE, claimed == term + 1);
	held = true;
	holder = own[me];
	named = 0;
	term = claimed;
#ifdef NO_PARITY
	version++;
#else
	version = version + 1 + version % 2;
#endif
	printf("the servers carry out a claim of candidate %d: term %d, version %d\n", me, term, version);
	seen = version;
	ahead = 0;
	former = 0;
	lease[me] = true
}

/*
 * The release's transaction: the record is vacant and the node is gone, at once. If its reply is lost it is sent again, and
 * finds no node. If the record isn't as the claim left it, the node goes alone.
 */
inline commitRelease()
{
	promise(RECORD_IS_OURS, version == seen);
	if
	:: version == seen ->
		held = false;
		named = heir;
		version = version + (heir == 0 -> 1 : 3);
		printf("the servers carry out a release of candidate %d: version %d\n", me, version)
	:: else
	fi;
#ifndef EARLY_RELEASE
	leads[me] = false; /* The work has settled before. */
#endif
	remove(own[me])
}

/* Reads the record of a held term, and guesses the version that a clean release of it would leave. */
#ifdef NO_PARITY
#define allowsGuess(node) (held && holder == (node))
#else
#ifdef GUESS_VACANT
#define allowsGuess(node) true
#else
#define allowsGuess(node) (held && holder == (node) && version % 2 == 1)
#endif
#endif
inline predictRecord()
{
	printf("candidate %d reads the record, and will claim version %d\n", me, version + 1);
	guess = version + 1;
	claimed = term + 1;
}

/* What it knows of others counts no more. */
inline forget()
{
	ahead = 0;
	more = false;
	briefly = false;
	guess = 0;
	claimed = 0;
	seen = 0;
	former = 0;
	watch[me] = 0;
}

/* It has no place any more, or leaves it. */
inline giveUp()
{
	own[me] = 0;
	call[me] = 0;
	leads[me] = false;
	lease[me] = false;
	outOfTurn = false;
	deferred = 0;
	heir = 0;
	forget();
}

/* Another candidate is asked, by a request on its node, to lead when `node` is gone. Any candidate may be asked. */
#define canCall(i) (calls > 0 && me != (i) && own[i] != 0 && exists(own[i]) && call[i] == 0)
inline summon(i, node)
{
	calls--;
	call[i] = node;
	printf("candidate %d calls candidate %d to lead when node %d is gone\n", me, i, node)
}

#define canPrefer(i) (!outOfTurn && deferred != seen && canCall(i))

/* A vacant record may be claimed, unless it names another one that wasn't let go before yet. */
#ifdef DEFER_AGAIN
#define mayClaimAfter(node) ((node) == 0 || (node) == own[me])
#else
#define mayClaimAfter(node) ((node) == 0 || (node) == own[me] || deferred == seen)
#endif

/* A candidate that has been called is let go before, once. */
inline letGo(i)
{
	ahead = own[i];
	deferred = seen;
	briefly = true;
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

/* Its turn has come, and it may know what a clean release has left behind. */
inline takeTurn()
{
	promise(TURN_IS_FIRST, nobodyAhead);
	if
	:: guess == 0 -> goto look
	:: else -> seen = guess; guess = 0; goto claim
	fi
}

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

proctype Candidate(byte me)
{
	byte joinedAfter; /* its nodes with a higher number have the uuid of this join */
	byte ahead;       /* the node that it waits for */
	bool more;        /* there are others ahead of that one */
	byte guess;       /* the version that a clean release will leave, if it knows; else 0 */
	byte seen;        /* the version that it claims, or has claimed */
	byte claimed;     /* the term that it claims, or has claimed */
	byte former;      /* whose term lasts, as the record said: a node, or 0 */
	byte deferred;    /* the version at which it has let another one go before */
	byte heir;        /* the node that it has called to lead next */
	bool outOfTurn;   /* it has been called, and others may be ahead of it */
	bool briefly;     /* it lets another one go before only for a while */
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
			outOfTurn = false;
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
	:: d_step { !more && guess == 0 && allowsGuess(ahead) -> predictRecord() }
		goto waiting
	:: call[me] != 0 -> goto called
	:: d_step { call[me] != 0 -> call[me] = 0 } /* It doesn't heed calls, or comes too late. */
		goto waiting
	orStop
	orTheEnd
	fi;

called:
	/* It waits for the end of the node after which it should lead; but its turn may come before. */
	atomic {
		forget();
		outOfTurn = true;
		ahead = call[me];
		call[me] = 0;
		watchFor(ahead)
	}
	if
	:: watch[me] == 0 -> goto look
	:: nobodyAhead -> goto queue
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
			:: !held && mayClaimAfter(named) -> goto claim
			:: !held && !mayClaimAfter(named) ->
				/* The former leader has named another one, which may go before: once, and if it doesn't take long. */
				ahead = named;
				deferred = seen;
				briefly = true
#ifndef BLIND_CLAIM
			:: held && holder == own[me] ->
				/* A claim whose reply was lost had been carried out. */
				claimed = term;
				goto elected
			:: held && holder != own[me] -> former = holder
#else
			:: held -> former = holder
#endif
			fi
		}
	orStop
	orTheEnd
	fi;
	/* Another request shows whether that one is there. */
	if
	:: atomic { former == 0 && exists(ahead) -> goto behind }
	:: atomic { former == 0 && !exists(ahead) -> ahead = 0; briefly = false; goto claim }
	:: atomic { former != 0 && exists(former) -> ahead = former; goto behind }
	:: former != 0 && !exists(former)
	orTheEnd
	fi;
	/* An unclean end. Another candidate, which has a higher priority, may be called to lead next. */
	if
	:: d_step { canPrefer(1) -> summon(1, former); letGo(1) }
		goto behind
	:: d_step { canPrefer(2) -> summon(2, former); letGo(2) }
		goto behind
	:: d_step { canPrefer(3) -> summon(3, former); letGo(3) }
		goto behind
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
	:: atomic { exists(own[me]) && version == seen -> commitClaim(); goto elected }
	:: exists(own[me]) && version != seen -> goto look
	/* No reply, whether it was carried out or not. After a barrier it looks again. */
	:: atomic { losses > 0 && exists(own[me]) && version == seen ->
			losses--;
			commitClaim();
			printf("candidate %d gets no reply\n", me);
			goto look
		}
	:: atomic { losses > 0 -> losses--; printf("candidate %d gets no reply: its claim was lost\n", me); goto look }
	orTheEnd
	fi;

behind:
	if
	:: outOfTurn -> goto queue
	:: else -> watchFor(ahead)
	fi;

waitingBehind:
	if
#ifdef DEFER_FOREVER
	:: atomic { watch[me] == 0 -> takeTurn() }
#else
	:: atomic { watch[me] == 0 || briefly -> takeTurn() }
#endif
	:: d_step { guess == 0 && allowsGuess(ahead) -> predictRecord() }
		goto waitingBehind
	orStop
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
		outOfTurn = false;
		deferred = 0;
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
	/* It may hand over. In the end, for whatever reason, its term ends, its work settles, and it gives the term back. */
	if
	:: d_step { heir == 0 && canCall(1) -> summon(1, own[me]); heir = own[1] }
		goto leading
	:: d_step { heir == 0 && canCall(2) -> summon(2, own[me]); heir = own[2] }
		goto leading
	:: d_step { heir == 0 && canCall(3) -> summon(3, own[me]); heir = own[3] }
		goto leading
	:: atomic {
			exists(own[me]) ->
			commitRelease();
#ifndef EARLY_RELEASE
			standAgainOrNot()
#endif
		}
	orTheEnd
	fi;

#ifdef EARLY_RELEASE
	atomic { standAgainOrNot() }
#endif

leave:
	if
	:: atomic { exists(own[me]) -> remove(own[me]); giveUp(); finish(); goto done }
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
			printf("the servers end the session of candidate %d\n", me);
			removeAll(me)
		}
	:: d_step { hasNode(N + me) ->
			printf("the servers end a former session of candidate %d\n", me);
			removeAll(N + me)
		}
	/* A create that was under way arrives. */
	:: d_step { late[me] && mayCome(me) -> late[me] = false; enqueue(me) }
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

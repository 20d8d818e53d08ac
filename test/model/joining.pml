/*
 * Join and claim in one write: a candidate that finds the record vacant, and no candidate in the queue, creates its node and
 * claims in one transaction. The model has other candidates that join meanwhile, lost replies, transactions that are carried out
 * late, expired sessions, nodes that an operator deletes, crashed processes and stopped candidates. The later steps are those of
 * the recipe (recipe.pml), in short. `npm run model` searches all its states. docs/model.md says what the model leaves out, and
 * why that hides nothing.
 *
 * A step of a process is one request as the servers carry it out, or the arrival of one reply. The transaction takes three steps:
 * it is sent, the servers carry it out or refuse it, and the reply arrives, or never does.
 */

/* The number of candidates: two or three. Code that names each candidate names three. */
#ifndef CANDIDATES
#define CANDIDATES 2
#endif
#define N 3

/* The most that happens in one execution. */
#ifndef FAULTS
#define FAULTS 1 /* expired sessions, nodes that an operator deletes, and crashed processes */
#endif
#ifndef LOSSES
#define LOSSES 1 /* connections that are lost while a transaction is under way */
#endif
#ifndef STOPS
#define STOPS 1 /* candidates that are stopped while they don't lead */
#endif
#ifndef AGAIN
#define AGAIN 1 /* leaders that join again after they released their term */
#endif

/* Whether the node that such a transaction creates stands first in the queue. Otherwise it stands last. */
#ifdef NOT_FIRST
#define STANDS_FIRST false
#else
#define STANDS_FIRST true
#endif

/* Each passage through the queue creates one node. A recipe that fails creates one more node for each lost reply. */
#define NODES (CANDIDATES + FAULTS + AGAIN + LOSSES)
#define MOST_NODES 8 /* nobodyIsThere and hasNode name this many nodes */
#if NODES > MOST_NODES
#error "too many nodes"
#endif

/*
 * The promises. Each must hold wherever the model asserts it. If a variant serves to break one promise, its search looks for that
 * promise alone.
 */
#define ONE_ACTS 1
#define TERMS_RISE 2
#define RECORD_IS_OURS 3
#define NOTHING_LEFT 4
#ifdef ONLY
#define promise(which, what) assert((which) != ONLY || (what))
#else
#define promise(which, what) assert(what)
#endif

/*
 * The queue. by[n] is the candidate that owns node n. It is 0 if there is no such node, and N + i for a ghost of candidate i: the
 * node of a session whose process has died, while the servers take the session for alive. Nodes have the order of their numbers,
 * except for nodes that stand first.
 */
byte by[MOST_NODES + 1];
bool first[MOST_NODES + 1];
byte last;

/* The record. */
bool held;
byte term;
byte version;
byte holder; /* the node that claimed the term, or was handed it */

/* The candidates, from 1 on. */
bool expired[N + 1];  /* the candidate's session is over, and the candidate doesn't know */
byte own[N + 1];      /* the candidate's node; the candidate has chosen the name, and may not know that the node exists */
byte watch[N + 1];    /* the node that the candidate watches; 0 after the notification of that node's end */
bool underWay[N + 1]; /* the candidate's transaction, which joins and claims, is under way */
byte names[N + 1];    /* the version of the record that the transaction expects */
byte haunts[N + 1];   /* the same for a transaction of a dead process; 0 if none was under way */
bool leads[N + 1];    /* the candidate has a term, and the work of the term hasn't settled */
bool lease[N + 1];    /* the lease of the candidate's node lasts */
bool come[N + 1];     /* the candidate has read the record */
#ifdef NO_EXPECTED_VERSION
byte asks[N + 1]; /* the term that the candidate's transaction claims */
#define isExpected(what) true
#define termOf(i) asks[i]
#else
#define isExpected(what) ((what) == version)
#define termOf(i) (term + 1)
#endif

byte finished;

byte faults = FAULTS, losses = LOSSES, stops = STOPS, again = AGAIN;

byte lastTerm;    /* the term of the candidate that began to act last */
hidden byte n, w; /* used only within a step */

/* A candidate acts while it has a term and its lease lasts: it asks the lease before every act. */
#define acts(i) (leads[i] && lease[i])
#define idle(i) (me == (i) || !acts(i))
#define nobodyElseActs (idle(1) && idle(2) && idle(3))

#define exists(node) (by[node] != 0)
#define isAhead(node) ((first[node] || (node) < own[me]) && (node) != own[me] && !first[own[me]] && exists(node))
#define nobodyIsThere \
	(by[1] == 0 && by[2] == 0 && by[3] == 0 && by[4] == 0 && by[5] == 0 && by[6] == 0 && by[7] == 0 && by[8] == 0)
#define hasNode(i) \
	(by[1] == (i) || by[2] == (i) || by[3] == (i) || by[4] == (i) || by[5] == (i) || by[6] == (i) || by[7] == (i) || \
	 by[8] == (i))

/* The wait after an unclean end: see recipe.pml. */
#define maySpend(i, node) (lease[i] && own[i] == (node))
#define outlasted(node) (!maySpend(1, node) && !maySpend(2, node) && !maySpend(3, node))

/* A node is deleted, and the candidates that watch it are notified. */
inline remove(node)
{
	by[node] = 0;
	first[node] = false;
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

/* A process dies. Its nodes stay, and its transaction may still be carried out. */
inline haunt()
{
	faults--;
	haunts[me] = (underWay[me] -> names[me] : haunts[me]);
	underWay[me] = false;
	names[me] = 0;
	printf("candidate %d dies, or drops its session\n", me);
	for (n : 1 .. NODES) {
		if
		:: by[n] == me -> by[n] = N + me
		:: else
		fi
	}
	n = 0
}

/* All candidates are alike, so the first to come may be called candidate 1. */
#define mayCome(i) ((i) == 1 || (come[1] && ((i) == 2 || come[2])))

/* The servers create a candidate's node at the end of the queue. */
inline enqueue(owner)
{
	last++;
	by[last] = owner;
	printf("the servers create node %d for candidate %d\n", last, owner)
}

/* The servers write the record. */
inline writeRecord(number, node)
{
	version++;
	term = number;
	held = (node != 0);
	holder = node;
	printf("the record is written: version %d, term %d, node %d\n", version, term, holder)
}

/* The transaction that joins and claims. */
inline joinAndClaim(owner, number)
{
	enqueue(owner);
	first[last] = STANDS_FIRST;
	writeRecord(number, last)
}

/* The release's transaction. It hands the term to the first of the others. Without others it makes the record vacant. */
inline commitRelease()
{
	promise(RECORD_IS_OURS, held && holder == own[me]);
	remove(own[me]);
	for (n : 1 .. NODES) {
		if
		:: ahead == 0 && exists(n) -> ahead = n
		:: else
		fi
	}
	n = 0;
	if
	:: holder == own[me] && ahead != 0 -> writeRecord(term + 1, ahead)
	:: holder == own[me] && ahead == 0 -> writeRecord(term, 0)
	:: else
	fi;
	leads[me] = false /* The work has settled before the release. */
}

/* The candidate forgets what it knows of other candidates. */
inline forget()
{
	ahead = 0;
	more = false;
	seen = 0;
	claimed = 0;
	watch[me] = 0
}

/* The candidate has no place in the queue any more, or leaves it. */
inline giveUp()
{
	own[me] = 0;
	leads[me] = false;
	lease[me] = false;
	underWay[me] = false;
	names[me] = 0;
	forget()
}

/* The candidate watches the node ahead, and will be notified of its end. */
inline watchIt()
{
	watch[me] = ahead;
	printf("candidate %d waits for node %d\n", me, ahead)
}

/* The candidate is done. Its session may live on, but has left no node and no transaction behind. */
inline finish()
{
	promise(NOTHING_LEFT, !underWay[me] && !hasNode(me));
	come[me] = true;
	finished++
}

/* What may happen at every step: the candidate learns that its node is gone. */
#define isLost (expired[me] || (own[me] != 0 && !underWay[me] && !exists(own[me])))
#define orLost \
	:: atomic { isLost -> goto lost }

/* Or the candidate's process dies. recipe.pml has the cases that it dies, or is stopped, while it waits. */
#define orTheEnd \
	orLost \
	:: atomic { faults > 0 && !isLost -> haunt(); goto lost }

#define orStop(where) \
	:: atomic { stops > 0 -> stops--; goto where }

proctype Candidate(byte me)
{
	byte ahead;   /* the node that the candidate waits for */
	bool more;    /* there are other nodes ahead of that node */
	byte seen;    /* the version that the candidate has read */
	byte claimed; /* the term that the candidate claims, has claimed, or was handed */
#ifdef ADOPT_LOST
	byte former; /* the node of the transaction that the candidate had sent in a lost session */
#endif

read:
	/* The candidate reads the record, with the number of candidates. */
	if
	:: atomic {
			!expired[me] && mayCome(me) ->
			come[me] = true;
			seen = version;
			claimed = term + 1;
			printf("candidate %d reads the record: term %d, version %d\n", me, term, version);
			if
#ifdef ADOPT_LOST
			:: held && former != 0 && holder == former ->
				own[me] = former;
				lease[me] = true;
				claimed = term;
				goto elected
#endif
#ifdef ANY_QUEUE
			:: !held
#else
			:: !held && nobodyIsThere
#endif
			:: else -> goto join
			fi
		}
	:: atomic { faults > 0 -> faults--; goto lost }
	fi;

	/* The candidate joins and claims in one write. Or it loses the connection before, and joins as usual. */
	if
	:: d_step { !expired[me] ->
			underWay[me] = true;
			names[me] = seen;
#ifdef NO_EXPECTED_VERSION
			asks[me] = claimed;
#endif
			printf("candidate %d sends that it joins and claims\n", me)
		}
	:: goto join
	orTheEnd
	fi;

sent:
	if
	:: atomic { !underWay[me] && own[me] != 0 -> goto elected }
	:: atomic { !underWay[me] && own[me] == 0 -> printf("candidate %d is refused\n", me); goto join }
	:: d_step { losses > 0 -> losses--; printf("candidate %d gets no reply\n", me) }
#ifdef LEAVE_UNSEEN
	orStop(left)
#else
	orStop(leaveUnsure)
#endif
	orTheEnd
	fi;

#ifdef REPEATED
	/* The candidate sends the transaction again, and the servers refuse the second one. */
	if
	:: atomic { !underWay[me] -> own[me] = 0; printf("candidate %d is refused\n", me); goto join }
	orTheEnd
	fi;
#endif

	/*
	 * No reply comes. The candidate commits a check of its node. A request under way on the old connection has been carried out, or
	 * never will be.
	 */
	if
	:: atomic {
			!expired[me] ->
#ifndef NO_BARRIER
			underWay[me] = false;
#endif
			if
			:: own[me] != 0 && exists(own[me]) ->
				promise(RECORD_IS_OURS, held && holder == own[me]);
				claimed = term;
				goto elected
			:: own[me] == 0 || !exists(own[me]) ->
				own[me] = 0;
				lease[me] = false;
				printf("candidate %d finds no node of its own\n", me);
				goto join
			fi
		}
#ifdef LEAVE_UNSEEN
	orStop(left)
#else
	orStop(leaveUnsure)
#endif
	:: atomic { expired[me] -> goto lost }
	:: atomic { faults > 0 && !expired[me] -> haunt(); goto lost }
	fi;

join:
	if
	:: atomic { !expired[me] -> enqueue(me); own[me] = last; goto queue }
	:: atomic { expired[me] -> goto lost }
	fi;

queue:
	/* One listing shows which candidates are ahead. The candidate watches the nearest one, unless that one is gone. */
	if
	:: atomic {
			forget();
			for (n : 1 .. NODES) {
				if
				:: first[n] && isAhead(n) -> more = (ahead != 0); ahead = n
				:: else
				fi
			}
			for (n : 1 .. NODES) {
				if
				:: !first[n] && isAhead(n) -> more = (ahead != 0); ahead = n
				:: else
				fi
			}
			n = 0;
			if
			:: ahead == 0 -> goto look
			:: else -> watchIt()
			fi
		}
	orLost
	fi;
	if
	:: watch[me] == 0 && more -> goto queue
	:: watch[me] == 0 && !more
	orLost
	fi;

look:
	/* The candidate reads the record. If the holder's node exists, the candidate watches it. */
	if
	:: atomic {
			forget();
			printf("candidate %d reads the record: term %d, version %d\n", me, term, version);
			seen = version;
			claimed = term + 1;
			if
			:: !held -> goto claim
			:: held && holder == own[me] -> claimed = term; goto handed
			:: held && holder != own[me] && exists(holder) -> ahead = holder; watchIt(); goto behind
			:: held && holder != own[me] && !exists(holder) -> ahead = holder
			fi
		}
	orLost
	fi;

	/* An unclean end. */
	if
	:: outlasted(ahead)
	orLost
	fi;

claim:
	if
	:: atomic {
			exists(own[me]) && version == seen ->
			writeRecord(claimed, own[me]);
			lease[me] = true;
			goto elected
		}
	:: exists(own[me]) && version != seen -> goto look
	orLost
	fi;

behind:
	if
	:: watch[me] == 0 -> goto look
	orLost
	fi;

handed:
	/* The record gives no lease. The candidate's own heartbeat does. */
	if
	:: d_step { exists(own[me]) -> lease[me] = true }
	orLost
	fi;

elected:
	/* The reply to the claim arrives. */
	atomic {
		leads[me] = true;
		printf("candidate %d leads term %d\n", me, claimed);
		if
		:: lease[me] ->
			promise(ONE_ACTS, nobodyElseActs);
			promise(TERMS_RISE, claimed > lastTerm);
			lastTerm = claimed
		:: else
		fi;
		forget()
	}

leading:
	/* In the end, for any reason, the term ends, its work settles, and the leader hands the term over or makes the record vacant. */
	if
	:: atomic {
			exists(own[me]) ->
			commitRelease();
			giveUp();
			if
			:: again > 0 -> again--; goto read
			:: goto left
			fi
		}
	orTheEnd
	fi;

leaveUnsure:
	/*
	 * The candidate is stopped. Its transaction may have been carried out, or may yet be. The candidate looks, as after a lost reply,
	 * and gives the term back.
	 */
	if
	:: atomic {
			!expired[me] ->
			underWay[me] = false;
			if
			:: own[me] != 0 && exists(own[me]) -> forget(); goto leading
			:: own[me] == 0 || !exists(own[me]) -> giveUp(); goto left
			fi
		}
	:: atomic { expired[me] -> goto lost }
	:: atomic { faults > 0 && !expired[me] -> haunt(); goto lost }
	fi;

lost:
	/* The candidate's work has stopped, or has died with the process. The candidate joins again with another session, or never. */
	atomic {
#ifdef ADOPT_LOST
		former = own[me];
#endif
		giveUp();
		expired[me] = false;
		printf("candidate %d knows that its session is over\n", me);
		if
		:: goto read
		:: goto left
		fi
	}

left:
	atomic { finish() }
}

/* The actions of the servers and of time on a candidate. */
proctype Fate(byte me)
{
end:
	do
	/* The servers carry out the candidate's transaction, or refuse it. */
	:: d_step { underWay[me] ->
			underWay[me] = false;
			if
			:: isExpected(names[me]) ->
				joinAndClaim(me, termOf(me));
				own[me] = (own[me] == 0 -> last : own[me]);
				lease[me] = true
			:: else
			fi;
			names[me] = 0
		}
	:: d_step { haunts[me] != 0 ->
			if
			:: haunts[me] == version -> joinAndClaim(N + me, term + 1)
			:: else
			fi;
			haunts[me] = 0
		}
	/* The candidate's session expires. */
	:: d_step { faults > 0 && !expired[me] && (underWay[me] || hasNode(me)) ->
			faults--;
			expired[me] = true;
			underWay[me] = false;
			names[me] = 0;
			printf("the servers end the session of candidate %d\n", me);
			removeAll(me)
		}
	:: d_step { haunts[me] != 0 || hasNode(N + me) ->
			printf("the servers end a former session of candidate %d\n", me);
			haunts[me] = 0;
			removeAll(N + me)
		}
	/* An operator deletes the candidate's node. */
	:: d_step { faults > 0 && hasNode(me) ->
			faults--;
			printf("an operator deletes the nodes of candidate %d\n", me);
			removeAll(me)
		}
	/* As long as the node is there, heartbeats make the lease last. */
	:: d_step { lease[me] && !exists(own[me]) -> lease[me] = false; printf("the lease of candidate %d ends\n", me) }
	od
}

/* Faults may stop at any moment. Otherwise a candidate that waits for ever would count as waiting for a fault that sets it free. */
proctype Calm()
{
	d_step { faults = 0; losses = 0; stops = 0 }
}

init {
	atomic {
		version = 1;
		run Candidate(1);
		run Candidate(2);
		run Fate(1);
		run Fate(2);
#if CANDIDATES == 3
		run Candidate(3);
		run Fate(3);
#endif
		run Calm()
	}
}

/*
 * After the last fault no candidate is stopped any more, and a candidate that has joined can be done only after it has led. This
 * formula therefore says also that all these candidates lead in the end.
 */
ltl everybody_is_done { <> (finished == CANDIDATES) }

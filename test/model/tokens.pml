/*
 * The order of tokens. A leader's token is the zxid with which the record names its node. But a successor may have a token
 * before it has read the record: the zxid of its newest heartbeat, if that heartbeat came before the handover, and after the
 * handed-over term had begun. A signal tells the successor of the handover. The signal names the version of the record; in this
 * model it names the term. The model has servers that lag behind, lost connections, leaders whose term is taken over, and
 * candidates that join again. `npm run model` searches all its states. docs/model.md says what the model leaves out, and why that
 * hides nothing.
 *
 * The servers carry out one write after the other, each with the next zxid. A client hears of writes in this order, from a server
 * that may lag behind: the replies to its writes, the events of its watches, and between them the results of its reads.
 */

/* The number of candidates. */
#define N 3

/* The most that happens in one execution. */
#ifndef WRITES
#define WRITES 8 /* writes that the servers carry out */
#endif
#ifndef LOSSES
#define LOSSES 1 /* connections that are lost */
#endif
#ifndef AGAIN
#define AGAIN 1 /* candidates that join again */
#endif
#define NODES (N + AGAIN)

#define TOKENS_RISE 1
#ifdef ONLY
#define promise(which, what) assert((which) != ONLY || (what))
#else
#define promise(which, what) assert(what)
#endif

/* The states of a candidate. */
#define WAITS 0
#define OFFLINE 1
#define TOLD 2 /* the candidate knows that it was handed a term, and has no token yet */
#define LEADS 3
#define DONE 4

/*
 * The state after each write: the node that holds the record, the term, and the write that wrote the record. beat is the candidate
 * whose heartbeat the write was, or 0.
 */
byte zxid;
byte holder[WRITES + 1];
byte term[WRITES + 1];
byte written[WRITES + 1];
byte beat[WRITES + 1];

/* For each node: the write that signaled that it leads, the term that it leads, and the write that deleted it. 0 if there is none. */
byte signalled[NODES + 1];
byte handed[NODES + 1];
byte gone[NODES + 1];
byte last;

byte token[WRITES + 1]; /* the token of each term; 0 if the term has none yet */

/* The candidates, from 1 on. */
byte does[N + 1];
byte own[N + 1];   /* the candidate's node */
byte at[N + 1];    /* the newest write that the candidate's server has; the candidate has heard of everything up to it */
byte m[N + 1];     /* the write of the newest record that the candidate has read and that another node holds; 0 if there is none */
byte known[N + 1]; /* the term in that record: the candidate waits for the signal of the next term */
byte h[N + 1];     /* the candidate's newest answered heartbeat, which may be its token; 0 if there is none */
bool beats[N + 1]; /* a heartbeat of the candidate isn't answered yet */

byte losses = LOSSES;
hidden byte w; /* used only within a step */

#define lives(node) (gone[node] == 0)
#define isOver(node) (gone[node] != 0 && gone[node] <= at[me])

/* The servers carry out a write. */
#define mayWrite (zxid < WRITES)
inline write()
{
	zxid++;
	holder[zxid] = holder[zxid - 1];
	term[zxid] = term[zxid - 1];
	written[zxid] = written[zxid - 1]
}

/* The record names another node now. The same write deletes the node that held it. */
inline writeRecord(node)
{
	write();
	if
	:: holder[zxid] != 0 && lives(holder[zxid]) -> gone[holder[zxid]] = zxid
	:: else
	fi;
	holder[zxid] = node;
	term[zxid] = term[zxid] + 1;
	written[zxid] = zxid
}

/* A candidate hands over to another node. It may do so as a leader, or in place of its own claim. */
#define mayHandTo(i) (mayWrite && me != (i) && own[i] != 0 && lives(own[i]) && holder[zxid] != own[i])
inline handTo(i)
{
	writeRecord(own[i]);
	signalled[own[i]] = zxid;
	handed[own[i]] = term[zxid];
	printf("candidate %d hands over to candidate %d: zxid %d\n", me, i, zxid)
}

/* The candidate forgets what it knows of other candidates. */
inline forget()
{
	m[me] = 0;
	known[me] = 0;
	h[me] = 0;
	beats[me] = false
}

/* The candidate gets a token. The tokens of terms rise, also if a term gets its token after a later term did. */
inline lead(number, chosen)
{
	printf("candidate %d has token %d for term %d\n", me, chosen, number);
	for (w : 1 .. WRITES) {
		promise(TOKENS_RISE, w >= (number) || token[w] < (chosen));
		promise(TOKENS_RISE, w <= (number) || token[w] == 0 || token[w] > (chosen))
	}
	w = 0;
	token[number] = chosen;
	does[me] = LEADS;
	forget()
}

/* The candidate has no node any more. It joins again, or is done. */
inline joinAgainOrNot()
{
	forget();
	if
	:: last < NODES ->
		last++;
		own[me] = last;
		does[me] = WAITS;
		at[me] = zxid;
		printf("candidate %d joins with node %d\n", me, last)
	:: else -> own[me] = 0; does[me] = DONE
	fi
}

/*
 * A candidate's newest heartbeat may be its token on two conditions. The heartbeat was answered before the signal. And the servers
 * carried it out after they wrote the record that the candidate has read, and that record is the one before the signal's. No other
 * candidate has led meanwhile then.
 */
#if defined(ANY_HEARTBEAT)
#define isWarm true
#elif defined(OLD_RECORD)
#define isWarm (m[me] != 0 && h[me] > m[me])
#elif defined(OLD_HEARTBEAT)
#define isWarm (m[me] != 0 && known[me] + 1 == handed[own[me]])
#else
#define isWarm (m[me] != 0 && known[me] + 1 == handed[own[me]] && h[me] > m[me])
#endif
#ifdef LATE_HEARTBEAT
#define countsBeats (does[me] == WAITS || (does[me] == TOLD && m[me] != 0))
#else
#define countsBeats (does[me] == WAITS)
#endif
#ifdef LATE_HEARTBEAT
#define mayBeat (does[me] == WAITS || does[me] == TOLD)
#else
#define mayBeat (does[me] == WAITS)
#endif

/* The candidate is told that it leads. */
inline hear()
{
	does[me] = TOLD;
	printf("candidate %d sees the signal of zxid %d\n", me, signalled[own[me]]);
#ifdef LATE_HEARTBEAT
	if
	:: known[me] + 1 != handed[own[me]] -> forget()
	:: else
	fi
#else
	if
	:: isWarm
	:: else -> forget()
	fi
#endif
}
#ifdef LATE_HEARTBEAT
#define hasToken (h[me] > m[me] && m[me] != 0)
#else
#define hasToken (h[me] != 0)
#endif

/* Drops writes so old that no candidate will hear of them any more. */
#define isBehind(i, zxid) (does[i] != DONE && at[i] <= (zxid))
inline tidy()
{
	for (w : 0 .. WRITES - 1) {
		if
		:: w < zxid && !isBehind(1, w) && !isBehind(2, w) && !isBehind(3, w) ->
			holder[w] = 0;
			term[w] = 0;
			written[w] = 0;
			beat[w] = 0
		:: else
		fi
	}
	w = 0
}

/* The next write has reached the candidate's server, which tells the candidate if it is its heartbeat or its signal. */
#define isOnline (does[me] != OFFLINE && does[me] != DONE)
inline goOn()
{
	at[me]++;
	if
	:: beat[at[me]] == me && countsBeats -> h[me] = at[me]; beats[me] = false
	:: else
	fi;
	if
	:: does[me] == WAITS && signalled[own[me]] == at[me] -> hear()
	:: else
	fi;
	if
	:: gone[own[me]] == at[me] -> joinAgainOrNot()
	:: else
	fi;
	tidy()
}

#define isHolder (holder[zxid] == own[me] && lives(own[me]))
#define mayClaim (does[me] == WAITS && lives(own[me]) && holder[zxid] != own[me])
#define handOver(i) \
	:: d_step { mayClaim && holder[zxid] != 0 && mayHandTo(i) -> handTo(i) } \
	:: d_step { does[me] == LEADS && isHolder && mayHandTo(i) -> handTo(i); leave() }
#define leave() joinAgainOrNot(); tidy()

/* All candidates are alike, so the first to claim may be called candidate 1. */
#define mayBeFirst (me == 1 || holder[zxid] != 0)

proctype Candidate(byte me)
{
end:
	do
	:: d_step { isOnline && at[me] < zxid -> goOn() }

	/* The candidate reads the record, and waits for the signal of the next term. */
	:: d_step { does[me] == WAITS && holder[at[me]] != 0 && holder[at[me]] != own[me] && m[me] != written[at[me]] ->
			m[me] = written[at[me]];
			known[me] = term[at[me]];
			printf("candidate %d reads the record of zxid %d, of term %d\n", me, m[me], known[me])
		}

	/* Only the newest heartbeat counts, so the candidate sends no other heartbeat. */
	:: d_step { mayBeat && mayWrite && lives(own[me]) && h[me] == 0 && !beats[me] ->
			write();
			beat[zxid] = me;
			beats[me] = true;
			printf("candidate %d beats: zxid %d\n", me, zxid)
		}

	/* The candidate claims the term of a leader whose lease is over. */
	:: d_step { mayClaim && mayWrite && mayBeFirst ->
			writeRecord(own[me]);
			printf("candidate %d claims: zxid %d\n", me, zxid);
			lead(term[zxid], zxid)
		}

	/* The candidate hands over its own term, or the term of a leader whose lease is over. */
	handOver(1)
	handOver(2)
	handOver(3)

	/* The candidate was handed a term. Without a token it reads the record, which may be the record of a later term. */
	:: d_step { does[me] == TOLD && hasToken -> lead(handed[own[me]], h[me]) }
	:: d_step { does[me] == TOLD && !hasToken && holder[at[me]] == own[me] -> lead(term[at[me]], written[at[me]]) }

	/* The candidate's connection is lost, and with it the record that it knows. The next connection tells it what it has missed. */
	:: d_step { losses > 0 && does[me] == WAITS ->
			losses--;
			does[me] = OFFLINE;
			for (w : 1 .. WRITES) {
				beat[w] = (beat[w] == me -> 0 : beat[w])
			}
			w = 0;
			m[me] = 0;
			known[me] = 0;
			beats[me] = false;
			printf("candidate %d loses its connection\n", me)
		}
	:: d_step { does[me] == OFFLINE && at[me] < zxid -> at[me]++; tidy() }
	:: d_step { does[me] == OFFLINE && isOver(own[me]) -> joinAgainOrNot(); tidy() }
	:: d_step { does[me] == OFFLINE && !isOver(own[me]) ->
			does[me] = WAITS;
			printf("candidate %d has a connection: zxid %d\n", me, at[me]);
			if
			:: signalled[own[me]] != 0 && signalled[own[me]] <= at[me] -> hear()
			:: else
			fi
		}
	od
}

/* The leader's session ends, and its node is deleted. */
proctype Servers()
{
end:
	do
	:: d_step { mayWrite && holder[zxid] != 0 && lives(holder[zxid]) ->
			write();
			gone[holder[zxid]] = zxid;
			printf("the servers end the leader's session: zxid %d\n", zxid)
		}
	od
}

init {
	atomic {
		own[1] = 1;
		own[2] = 2;
		own[3] = 3;
		last = N;
		run Candidate(1);
		run Candidate(2);
		run Candidate(3);
		run Servers()
	}
}

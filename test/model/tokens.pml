/*
 * The order of tokens. A leader's token is the zxid with which the record names its node. But a successor may have a token
 * before it has read that: the zxid of its newest heartbeat, if that came before the handover, and after the term that was
 * handed over had begun. The handover is told by a signal, which names the version of the record; here that is the term. With servers that lag behind, connections that are lost, leaders that are taken over, and
 * candidates that join again. `npm run model` searches all its states; docs/model.md says what is left out, and why that
 * hides nothing.
 *
 * The servers carry out one write after the other, each with the next zxid. What a client is told comes in this order, from a
 * server that may be behind: the replies of its writes, the events of its watches, and between them what it reads.
 */

/* How many candidates there are. */
#define N 3

/* How much happens in one run, at most. */
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

/* What a candidate does. */
#define WAITS 0
#define OFFLINE 1
#define TOLD 2 /* it knows that it was handed a term, and has no token yet */
#define LEADS 3
#define DONE 4

/* What each write has left: whose node holds the record, of which term, by which write; and whose heartbeat it was, or 0. */
byte zxid;
byte holder[WRITES + 1];
byte term[WRITES + 1];
byte written[WRITES + 1];
byte beat[WRITES + 1];

/* The write that signalled to a node that it leads, and which term; and the write that has deleted it. 0 if there was none. */
byte signalled[NODES + 1];
byte handed[NODES + 1];
byte gone[NODES + 1];
byte last;

byte token[WRITES + 1]; /* of each term; 0 if it has none yet */

/* The candidates, from 1 on. */
byte does[N + 1];
byte own[N + 1];   /* its node */
byte at[N + 1];    /* up to which write its server is, and it was told what there was to tell */
byte m[N + 1];     /* the write of the record that it has read as held by another node; 0 if it has read none */
byte known[N + 1]; /* the term that the record said then: the candidate waits for the signal of the next one */
byte h[N + 1];     /* its newest heartbeat that was answered, and may be its token; 0 if there is none */
bool beats[N + 1]; /* a heartbeat of it isn't answered yet */

byte losses = LOSSES;
hidden byte w; /* only within steps */

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

/* The record is held by another node now. The one that held it goes at once. */
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

/* To another node, also by a candidate that puts another one forward in the place of its own claim. */
#define mayHandTo(i) (mayWrite && me != (i) && own[i] != 0 && lives(own[i]) && holder[zxid] != own[i])
inline handTo(i)
{
	writeRecord(own[i]);
	signalled[own[i]] = zxid;
	handed[own[i]] = term[zxid];
	printf("candidate %d hands over to candidate %d: zxid %d\n", me, i, zxid)
}

/* What it knows of others counts no more. */
inline forget()
{
	m[me] = 0;
	known[me] = 0;
	h[me] = 0;
	beats[me] = false
}

/* The tokens of terms rise, also if one gets its token after a later one. */
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

/* It has no node any more. */
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
 * Its newest heartbeat may be its token if it was answered before the signal, and carried out behind the record that it has
 * read, which is the one before the signal's: so nobody else has led meanwhile.
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

/* It is told that it leads. */
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

/* What is so old that nobody will be told of it any more is of no interest. */
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

/* The next write has come to its server, which tells of it: of the heartbeat, or of the signal. */
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

/* They are all alike, so the first to claim may be called candidate 1. */
#define mayBeFirst (me == 1 || holder[zxid] != 0)

proctype Candidate(byte me)
{
end:
	do
	:: d_step { isOnline && at[me] < zxid -> goOn() }

	/* It reads the record, and waits for the signal of the next term. */
	:: d_step { does[me] == WAITS && holder[at[me]] != 0 && holder[at[me]] != own[me] && m[me] != written[at[me]] ->
			m[me] = written[at[me]];
			known[me] = term[at[me]];
			printf("candidate %d reads the record of zxid %d, of term %d\n", me, m[me], known[me])
		}

	/* Only its newest heartbeat counts, so it sends no other one. */
	:: d_step { mayBeat && mayWrite && lives(own[me]) && h[me] == 0 && !beats[me] ->
			write();
			beat[zxid] = me;
			beats[me] = true;
			printf("candidate %d beats: zxid %d\n", me, zxid)
		}

	/* It claims the term of a leader whose lease is over. */
	:: d_step { mayClaim && mayWrite && mayBeFirst ->
			writeRecord(own[me]);
			printf("candidate %d claims: zxid %d\n", me, zxid);
			lead(term[zxid], zxid)
		}

	/* It hands over its own term, or the one of a leader whose lease is over. */
	handOver(1)
	handOver(2)
	handOver(3)

	/* It was handed a term. Without a token it reads the record, which may be a later one's. */
	:: d_step { does[me] == TOLD && hasToken -> lead(handed[own[me]], h[me]) }
	:: d_step { does[me] == TOLD && !hasToken && holder[at[me]] == own[me] -> lead(term[at[me]], written[at[me]]) }

	/* Its connection is lost, and with it the record that it knows. On the next one it is told what there is to tell. */
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

/* A session ends, and the leader's node goes. */
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

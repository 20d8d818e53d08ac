/*
 * The ownership of a shard. Members of a group claim the shard and give it back, as the plan says. The plan may say anything. If a
 * member has ended uncleanly, the shard passes on by that member's tombstone. The model has late and lost heartbeats, claims and
 * releases, stale looks, sessions that end, members that stop in good order, suspended members, and members whose heartbeats raise no
 * version. `npm run model` searches all its states. README.md says what the model leaves out, and why that hides nothing.
 *
 * A request takes three steps: it is sent, the servers carry it out or refuse it, and the reply arrives. Between any two steps of one
 * process the other processes may take any number of steps, and time may pass. A slow network and a suspended process look like that,
 * too. The delay is exactly the lease, because there is one clock, which needs no margin.
 */

/* The number of members. */
#ifndef MEMBERS
#define MEMBERS 2
#endif
#define N MEMBERS

/* The number of sessions that end. */
#ifndef FAULTS
#define FAULTS 1
#endif

/* The number of members whose heartbeats may be checks. */
#ifndef CHECKS
#define CHECKS 0
#endif

/* The length of a lease, in ticks. */
#ifndef LEASE
#define LEASE 2
#endif

#ifdef EARLY_TOMBSTONE
#define DELAY (LEASE - 1)
#else
#define DELAY LEASE
#endif

/*
 * The promises. Each must hold wherever the model asserts it. If a variant serves to break one promise, its search looks for that
 * promise alone.
 */
#define ONE_ACTS 1       /* at most one member acts for the shard */
#define FENCED 2         /* a guarded write is carried out only while the record names its writer */
#define TOMBSTONE_HOLDS 3 /* a member that has a tombstone has no lease, and gets none */
#define NAMED 4          /* a member acts only while the record names it */
#ifdef ONLY
#define promise(which, what) assert((which) != ONLY || (what))
#else
#define promise(which, what) assert(what)
#endif

/* The states of a request whose reply hasn't come. 0: there is no such request. */
#define SENT 1
#define CARRIED_OUT 2

/* The states of an owner. 0: the member doesn't own the shard. */
#define OWNS 1
#define SETTLES 2 /* the member must give the shard back; its work goes on until it has settled */

/*
 * The states of a member's look at the nodes of another member, its target. 0: no look is under way. The member knows at most a
 * version, from which its delay counts.
 */
#define NEWEST 1 /* the answer will show the newest version of the target's heartbeat node */
#define GONE 2   /* the answer will say that the target's own node is gone */
#define ASKED 3  /* the servers haven't looked yet; used only where that makes a difference */
#define ABSENT 4 /* the answer has said that the node is gone: the delay counts from there */

/* A delay is the number of its remaining ticks, plus one. 0: there is no delay. In this way no clock goes on for ever. */
#define WHOLE_DELAY (DELAY + 1)
#define IS_OVER 1

/* The member that the shard's record names; 0 if the record is vacant. */
byte holder;

/* The members, from 1 on. */
bool joined[N + 1];    /* the member's node was created */
bool own[N + 1];       /* the member's node exists */
bool tombstone[N + 1];
bool stopped[N + 1];   /* the member has stopped in good order, and does nothing any more */
byte lease[N + 1];     /* the number of ticks for which the member may act */
byte works[N + 1];     /* the member owns the shard: it acts while its lease lasts */
bool checks[N + 1];    /* the member's heartbeats are checks: no version shows them */

/* Each member's newest heartbeat, and the remaining ticks of its lease. The first heartbeat creates the member's node. */
byte beat[N + 1];
byte beaten[N + 1];

/* Each member's claim of the shard. After a write of the record the servers refuse the claims that others have under way. */
byte claim[N + 1];

/* Each member's release of the shard. */
byte give[N + 1];

/* A guarded write of member 1. The other members' writes are alike. */
bool writes;
bool isCurrent; /* the record is as it was when the write was sent */

/*
 * The target that each member watches, its look at the target, and its delay since it saw the newest version, or since the servers
 * proved the target's absence.
 */
byte watched[N + 1];
byte look[N + 1];
byte count[N + 1];

byte faults = FAULTS;
hidden byte w; /* used only within a step */

#define acts(i) (works[i] != 0 && lease[i] > 0)
#define isNamed(i) (!acts(i) || holder == i)
#if N == 2
#define oneActs (!(acts(1) && acts(2)))
#define named (isNamed(1) && isNamed(2))
#else
#define oneActs (!(acts(1) && acts(2)) && !(acts(1) && acts(3)) && !(acts(2) && acts(3)))
#define named (isNamed(1) && isNamed(2) && isNamed(3))
#endif

/* The member has no lease, and no heartbeat that may yet give one. Without a node it sends no other heartbeat. */
#define isOver(i) (lease[i] == 0 && !(beat[i] == CARRIED_OUT && beaten[i] > 0))

/* The servers write the record. They refuse requests that were sent for the former record. */
inline writeRecord(next)
{
	holder = next;
#ifndef CLAIM_ANY_VERSION
	for (w : 1 .. N) {
		claim[w] = (claim[w] == SENT -> 0 : claim[w])
	}
	w = 0;
#endif
	isCurrent = false
}

/* A heartbeat node has a new version, or its member's node is gone. A version seen before leads to no tombstone. */
inline change(node)
{
	for (w : 1 .. N) {
		if
		:: watched[w] == node && look[w] <= NEWEST ->
			count[w] = 0;
			look[w] = (look[w] == NEWEST -> 0 : look[w])
		:: else
		fi
	}
	w = 0
}

inline forget()
{
	watched[me] = 0;
	look[me] = 0;
	count[me] = 0
}

#define target watched[me]

#ifdef NO_TOMBSTONE
#define mayPass (holder != me)
#else
#define mayPass (holder == 0 || (holder != me && tombstone[holder]))
#endif

/* The conditions of a claim when the servers carry it out. */
#ifdef CLAIM_ANY_VERSION
#define mayClaim(i) own[i]
#elif defined(CLAIM_WITHOUT_NODE)
#define mayClaim(i) mayPass
#else
#define mayClaim(i) (own[i] && mayPass)
#endif

#ifdef FENCE_BY_MEMBER
#define isFenced own[me]
#elif defined(FENCE_BY_RECORD)
#define isFenced isCurrent
#else
#define isFenced (own[me] && isCurrent)
#endif

/* The target's heartbeats raise a version that others can read. */
#ifdef CHECKS_COUNT
#define mayBeSilent true
#else
#define mayBeSilent (!checks[target])
#endif

/* The conditions on which the delay for an absent target may begin, and on which its tombstone may come. */
#if defined(BELIEVED) || defined(PROVED_AT_THE_END)
#define mayBegin true
#else
#define mayBegin (!own[target])
#endif
#if defined(BELIEVED) || defined(PROVED_AT_FIRST)
#define mayEnd true
#else
#define mayEnd (!own[target])
#endif

proctype Member(byte me)
{
end:
	do
	/* The member sends a heartbeat. The first heartbeat joins the group. */
	:: d_step { !stopped[me] && beat[me] == 0 && (own[me] || !joined[me]) ->
			beat[me] = SENT;
			beaten[me] = LEASE;
			printf("member %d beats\n", me)
		}
	:: d_step { beat[me] == SENT && !joined[me] ->
			joined[me] = true;
			own[me] = true;
			beat[me] = CARRIED_OUT;
			printf("member %d has a node\n", me)
		}
	:: d_step { beat[me] == SENT && joined[me] && own[me] ->
			beat[me] = CARRIED_OUT;
#ifndef TOMBSTONE_AT_ANY_VERSION
			if
			:: !checks[me] -> change(me)
			:: else
			fi
#endif
		}
	:: d_step { beat[me] == SENT && joined[me] && !own[me] -> beat[me] = 0; beaten[me] = 0 }
	/* The heartbeat's reply arrives. It may also never arrive. */
	:: d_step { beat[me] == CARRIED_OUT ->
			lease[me] = (!stopped[me] && beaten[me] > lease[me] -> beaten[me] : lease[me]);
			beat[me] = 0;
			beaten[me] = 0;
			promise(ONE_ACTS, oneActs);
			promise(NAMED, named)
		}

	/* The plan says that the member owns the shard. The member has read the record, and claims. */
	:: d_step { !stopped[me] && works[me] == 0 && claim[me] == 0 && give[me] == 0 && joined[me] && mayPass ->
			claim[me] = SENT;
			printf("member %d claims\n", me)
		}
	:: d_step { claim[me] == SENT && mayClaim(me) ->
			writeRecord(me);
			claim[me] = CARRIED_OUT;
			printf("the record names member %d\n", me);
			promise(NAMED, named)
		}
	:: d_step { claim[me] == SENT && !mayClaim(me) -> claim[me] = 0 }
	/*
	 * The claim's reply arrives. If the reply is lost, the member reads the record behind a barrier. If the record has changed since,
	 * the member isn't the owner.
	 */
	:: d_step { claim[me] == CARRIED_OUT ->
			claim[me] = 0;
			works[me] = (stopped[me] -> 0 : OWNS);
			promise(ONE_ACTS, oneActs);
			promise(NAMED, named)
		}
#ifdef PLAN_OWNS
	:: d_step { !stopped[me] && works[me] == 0 && holder == 0 -> works[me] = OWNS; promise(ONE_ACTS, oneActs) }
#endif

	/*
	 * The plan says that the member doesn't own the shard any more, or the member has lost it. The member signals that, its work
	 * settles, and it gives the shard back.
	 */
	:: d_step { works[me] == OWNS && !stopped[me] ->
			works[me] = SETTLES;
#ifdef GIVEN_EARLY
			give[me] = SENT;
#endif
			printf("member %d is to give the shard back\n", me)
		}
	:: d_step { works[me] == SETTLES && !stopped[me] ->
			works[me] = 0;
#ifndef GIVEN_EARLY
			give[me] = SENT;
#endif
			printf("member %d's work has settled\n", me)
		}
#ifdef TAKEN_UP
	/* The member reads that the record names it. */
	:: d_step { give[me] == SENT && !stopped[me] && works[me] == 0 && holder == me -> works[me] = OWNS }
#endif
	:: d_step { give[me] == SENT ->
			if
#ifdef RELEASE_ANY_VERSION
			:: true ->
#else
			:: holder == me ->
#endif
				writeRecord(0);
				printf("member %d gives the shard back\n", me);
				promise(NAMED, named)
#ifndef RELEASE_ANY_VERSION
			:: else
#endif
			fi;
			give[me] = CARRIED_OUT
		}
	:: d_step { give[me] == CARRIED_OUT -> give[me] = 0 }
	/* If the release gets no answer, the member repeats it. */
	:: d_step { give[me] == CARRIED_OUT && !stopped[me] -> give[me] = SENT }

	/* The member's work sends a guarded write. */
	:: d_step { me == 1 && acts(me) && !writes -> writes = true; isCurrent = (holder == me) }
	:: d_step { me == 1 && writes ->
			if
			:: isFenced -> promise(FENCED, holder == me)
			:: else
			fi;
			writes = false;
			isCurrent = false
		}

	/* The member stops in good order, after its work has settled. */
	:: d_step { own[me] && !stopped[me] && works[me] == 0 ->
			stopped[me] = true;
			lease[me] = 0;
			give[me] = (give[me] == SENT -> SENT : 0);
			own[me] = false;
			tombstone[me] = true;
			change(me);
			forget();
			printf("member %d stops\n", me)
		}

	/* The member watches another member. */
	:: d_step { target == 0 && !stopped[me] && me != 1 && joined[1] && !tombstone[1] -> target = 1 }
	:: d_step { target == 0 && !stopped[me] && me != 2 && joined[2] && !tombstone[2] -> target = 2 }
#if N > 2
	:: d_step { target == 0 && !stopped[me] && me != 3 && joined[3] && !tombstone[3] -> target = 3 }
#endif
	:: d_step { target != 0 && tombstone[target] -> forget() }
	/* The servers look at the target's nodes. The answer arrives later. */
#ifdef TOMBSTONE_FROM_SENDING
	:: d_step { target != 0 && !tombstone[target] && look[me] == 0 && count[me] == 0 ->
			look[me] = ASKED;
			count[me] = WHOLE_DELAY
		}
	:: d_step { look[me] == ASKED && own[target] && mayBeSilent -> look[me] = NEWEST }
	:: d_step { look[me] == ASKED && !own[target] -> look[me] = GONE }
	:: d_step { look[me] == ASKED && own[target] && !mayBeSilent -> forget() }
#else
	:: d_step { target != 0 && !tombstone[target] && look[me] == 0 && count[me] == 0 && own[target] && mayBeSilent ->
			look[me] = NEWEST
		}
	/* Whatever the member believes, it asks whether the node is gone. As long as the node exists, the servers refuse the proof. */
	:: d_step { target != 0 && !tombstone[target] && look[me] == 0 && count[me] == 0 && mayBegin -> look[me] = GONE }
#endif
	:: d_step { look[me] == NEWEST -> look[me] = 0; count[me] = (count[me] == 0 -> WHOLE_DELAY : count[me]) }
	:: d_step { look[me] == GONE -> look[me] = ABSENT; count[me] = (count[me] == 0 -> WHOLE_DELAY : count[me]) }
	/* The target's version was the same for a lease. The target's nodes are deleted at that version, and its tombstone comes. */
	:: d_step { count[me] == IS_OVER && look[me] == 0 && own[target] ->
			own[target] = false;
			change(target);
			tombstone[target] = true;
			printf("member %d: tombstone of %d\n", me, target);
			promise(TOMBSTONE_HOLDS, isOver(target));
			forget()
		}
	/* The target is gone, and its lease has ended since. */
#ifdef TOMBSTONE_AT_ONCE
	:: d_step { target != 0 && look[me] == GONE && !tombstone[target] ->
#else
	:: d_step { count[me] == IS_OVER && look[me] == ABSENT && mayEnd && !tombstone[target] ->
#endif
			tombstone[target] = true;
			printf("member %d: tombstone of %d, which is gone\n", me, target);
			promise(TOMBSTONE_HOLDS, isOver(target));
			forget()
		}
	od
}

/* The servers end sessions. Tombstones of members that no record names are deleted. */
proctype Servers()
{
end:
	do
	:: d_step { faults > 0 && own[1] -> faults--; own[1] = false; change(1); printf("the session of member 1 ends\n") }
	:: d_step { faults > 0 && own[2] -> faults--; own[2] = false; change(2); printf("the session of member 2 ends\n") }
#if N > 2
	:: d_step { faults > 0 && own[3] -> faults--; own[3] = false; change(3); printf("the session of member 3 ends\n") }
#endif
	:: d_step { tombstone[1] && holder != 1 && !stopped[1] -> tombstone[1] = false }
	:: d_step { tombstone[2] && holder != 2 && !stopped[2] -> tombstone[2] = false }
#if N > 2
	:: d_step { tombstone[3] && holder != 3 && !stopped[3] -> tombstone[3] = false }
#endif
	od
}

proctype Time()
{
end:
	do
	:: d_step { true ->
			for (w : 1 .. N) {
				lease[w] = (lease[w] > 0 -> lease[w] - 1 : 0);
				beaten[w] = (beaten[w] > 0 -> beaten[w] - 1 : 0);
				count[w] = (count[w] > IS_OVER -> count[w] - 1 : count[w])
			}
			w = 0
		}
	od
}

init {
	atomic {
#if CHECKS > 0
		if
		:: true
		:: checks[N] = true
		fi;
#endif
#if CHECKS > 1
		if
		:: true
		:: checks[1] = true
		fi;
#endif
		run Member(1);
		run Member(2);
#if N > 2
		run Member(3);
#endif
		run Servers();
		run Time()
	}
}

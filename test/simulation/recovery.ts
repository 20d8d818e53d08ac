import { LONGEST_COOLDOWN_MS } from '../../src/election/lost-term-backoff.js';
import { takeoverDelayMs } from '../../src/lease/failure-detector.js';
import { WAIT_FOR_PREPARED_MS } from './candidates/candidate.js';
import type { EnsembleTimes } from './model/ensemble.js';

/** The values on which the bound depends. */
export interface RecoveryTimes extends EnsembleTimes {
  readonly sessionTimeoutMs: number;
  /** How long a candidate waits at most after an unclean end. */
  readonly delayMs: number;
  /** Whether a candidate that isn't the next in line may become the leader. */
  readonly hasPriorities: boolean;
  /** Whether the ensemble may have lost its data. */
  readonly losesData: boolean;
  /** How many candidates can't prove their nodes. @default 0 */
  readonly unprovable?: number;
}

/** Packets that a cut link has held back arrive within this time once it works again. */
const HELD_BACK_MS = 3000;
/** A pause between two rounds of servers, and then a refusal by each of the three servers, which have a leader by then. */
const DIALING_MS = 1000 + 3 * 1000;
/** `close` of a session that can't reach a server, and the longest pause of a supervisor that tries again and again. */
const RESTARTING_MS = 1500 + 5000;
/** The requests of a claim, the start of a process that takes a dead one's place, and one look at the world. */
const SMALL_THINGS_MS = 1500;
/** The clocks of the servers and of the candidates run at rates within 1 %. */
const DRIFT = 1.02;

/**
 * How long it may take from the end of all faults until there is a leader again. This doesn't count the time in which the
 * application holds it up, by its hook or by work that goes on after its term. One after the other:
 *
 * 1. The network delivers the packets that it has held back, and with them the last ones of sessions that are over: `HELD_BACK_MS`.
 * 2. At the same time, the longest of
 *    - a session whose process is gone ends: its timeout, rounded up to a tick; its last request is reported to the leader half
 *      a tick late, and the leader looks once a tick;
 *    - a server that isn't needed any more notices that. It goes on for `syncLimit` ticks, and answers the pings of its
 *      clients, which notice nothing before it does; the leader counts half ticks, and one more;
 *    - a candidate that has lost its session closes it and is in a pause before it tries again, or cools down after
 *      terms that it has lost.
 *    - when the ensemble has lost its data: a session that no server takes is given up: {@link servedBoundMs}.
 * 3. A session whose server is gone finds another one: a pause between two rounds and some tries.
 * 4. The next in line waits out the lease of the one before it: the takeover delay.
 * 5. If it hands the term over to a candidate with a higher priority whose session ends at that moment: the lease of the latter, too.
 * 6. A candidate without a heartbeat node notices that by its claim, and joins again: the next one waits out the delay once more.
 */
export function recoveryBoundMs({
  tickMs,
  syncLimit,
  sessionTimeoutMs,
  delayMs,
  hasPriorities,
  losesData,
  unprovable = 0,
}: RecoveryTimes): number {
  const sessionEndsMs = sessionTimeoutMs + 2.5 * tickMs;
  const serverNoticesMs = (syncLimit + 1) * tickMs;
  const givenUpMs = losesData ? servedBoundMs({ tickMs, syncLimit, sessionTimeoutMs }) + RESTARTING_MS : 0;
  const handoverMs = hasPriorities ? delayMs : 0;
  return (
    HELD_BACK_MS +
    DRIFT *
      (Math.max(sessionEndsMs, serverNoticesMs, RESTARTING_MS, LONGEST_COOLDOWN_MS, givenUpMs) + DIALING_MS) +
    DRIFT * ((1 + unprovable) * delayMs + handoverMs) +
    SMALL_THINGS_MS
  );
}

type PlainTimes = Omit<RecoveryTimes, 'delayMs' | 'hasPriorities' | 'losesData' | 'unprovable'>;

/** After so many session timeouts without a server, a session asks without saying what it has seen. */
const INSISTS_FOR_TIMEOUTS = 1.25;

/**
 * From when all is well, a session is served again within this time, or has been given up as expired. In this time the network
 * delivers what it has held back, and the servers elect a leader. The session insists for a while on the zxid that it has seen. Then it
 * asks a server without that zxid, or finds a server that has noticed by then that it neither leads nor follows.
 */
export function servedBoundMs({ tickMs, syncLimit, sessionTimeoutMs }: PlainTimes): number {
  return (
    HELD_BACK_MS +
    DRIFT * (Math.max(INSISTS_FOR_TIMEOUTS * sessionTimeoutMs, (syncLimit + 1) * tickMs) + DIALING_MS) +
    SMALL_THINGS_MS
  );
}

/** The time for late packets, and for a second read because the first one may have been too old. */
const READING_MS = 10_000;

/**
 * How long an observer may show a leader after that leader's end, under any fault except one of its own process. Its server may
 * answer for `syncLimit` ticks without knowing of the end. Then the observer may have no server for a session timeout before it
 * says that it doesn't know, and it takes up to another session timeout to notice that.
 */
export function staleBoundMs({ tickMs, syncLimit, sessionTimeoutMs }: PlainTimes): number {
  return DRIFT * ((syncLimit + 1) * tickMs + 2 * sessionTimeoutMs) + READING_MS;
}

/** Several packets of a takeover may be lost, one after the other. This is how much longer it takes then. */
const PACKETS_LOST = 3;
const LOST_PACKET_MS = 800;

/**
 * From when a leader is silent, and nothing else is wrong, until another one acts. The candidate sees the last heartbeat at its next read, a
 * quarter of a lease later. Then it waits for the delay. The first proof comes up to another quarter later.
 */
export function silentBoundMs(leaseMs: number): number {
  return DRIFT * (takeoverDelayMs(leaseMs) + leaseMs / 2) + PACKETS_LOST * LOST_PACKET_MS + SMALL_THINGS_MS;
}

/** From the death of a guarded leader, when nothing else is wrong: some twenty round trips, and now and then a lost packet. */
export const GUARDED_BOUND_MS = 5000;

/**
 * How long a candidate may take to stop, beyond what its application takes and while its process runs: a lease and a half,
 * the close of its session, and, for one that makes its sessions by itself, the pause that it is in. A leader may wait for one that prepares.
 */
export function stopBoundMs(sessionTimeoutMs: number, waits: boolean): number {
  return DRIFT * (sessionTimeoutMs / 2 + 2000 + (waits ? WAIT_FOR_PREPARED_MS : 0)) + 1500;
}

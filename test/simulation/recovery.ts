import { cooldownAfter } from '../../src/cluster/supervisor/lost-term-cooldown.js';
import { LONGEST_COOLDOWN_MS } from '../../src/election/rejoin-backoff.js';
import { takeoverDelayMs } from '../../src/election/term/takeover-delay.js';
import type { EnsembleTimes } from './model/ensemble.js';

/** What the bound depends on. */
export interface RecoveryTimes extends EnsembleTimes {
  readonly sessionTimeoutMs: number;
  readonly leaseMs: number;
  /** Whether one that isn't the next in line may be called to lead. */
  readonly hasPriorities: boolean;
  /** Whether the ensemble may have lost its data. */
  readonly losesData: boolean;
}

/** What a mended link has held back comes within this time. */
const HELD_BACK_MS = 3000;
/** A pause of the dialer, and then an answer in vain from each of the three servers, which are elected by then. */
const DIALING_MS = 1000 + 3 * 1000;
/** `close` of a session that can't reach a server, and the longest pause of a supervisor that tries again and again. */
const RESTARTING_MS = 1500 + 5000;
/** A supervisor or an elector that has lost one term after the other keeps out for so long, from the last one's end. */
const COOLING_MS = Math.max(cooldownAfter(Number.MAX_SAFE_INTEGER, undefined, 1), LONGEST_COOLDOWN_MS);
/** The requests of a claim, the start of a process that takes a dead one's place, and one look at the world. */
const SMALL_THINGS_MS = 1500;
/** Rates of clocks are within 1 %: of the servers', and of the candidates'. */
const DRIFT = 1.02;

/**
 * How long it may take from the end of all faults until there is a leader again, not counting the time in which it is
 * the application that holds it up, by its hook or by work that goes on after its term. One after the other:
 *
 * 1. What the network has held back arrives, and with it the last that is heard of a session that is over: `HELD_BACK_MS`.
 * 2. At the same time, the longest of
 *    - a session whose process is gone ends: its timeout, rounded up to a tick; its last request is reported to the leader half
 *      a tick late, and the leader looks once a tick;
 *    - a server that isn't needed any more notices: it goes on for `syncLimit` ticks, and answers the pings of those that
 *      wait with it, who notice nothing before it does; the leader counts half ticks, and one more;
 *    - a candidate that has lost its session closes it and is in a pause before it tries again, or cools down after
 *      terms that it has lost.
 *    - when the ensemble has lost its data: a session that no server takes is given up: {@link servedBoundMs}.
 * 3. A session whose server is gone finds another one: a pause of the dialer and some tries.
 * 4. The next in line waits out the lease of the one before it: the takeover delay.
 * 5. If it hands the term over to one with a higher priority, whose session ends at that moment: that one's lease, too.
 */
export function recoveryBoundMs({
  tickMs,
  syncLimit,
  sessionTimeoutMs,
  leaseMs,
  hasPriorities,
  losesData,
}: RecoveryTimes): number {
  const sessionEndsMs = sessionTimeoutMs + 2.5 * tickMs;
  const serverNoticesMs = (syncLimit + 1) * tickMs;
  const givenUpMs = losesData ? servedBoundMs({ tickMs, syncLimit, sessionTimeoutMs }) + RESTARTING_MS : 0;
  const handoverMs = hasPriorities ? takeoverDelayMs(leaseMs) : 0;
  return (
    HELD_BACK_MS +
    DRIFT * (Math.max(sessionEndsMs, serverNoticesMs, RESTARTING_MS, COOLING_MS, givenUpMs) + DIALING_MS) +
    DRIFT * (takeoverDelayMs(leaseMs) + handoverMs) +
    SMALL_THINGS_MS
  );
}

type PlainTimes = Omit<RecoveryTimes, 'leaseMs' | 'hasPriorities' | 'losesData'>;

/** After so many session timeouts without a server, a session asks without saying what it has seen. */
const INSISTS_FOR_TIMEOUTS = 1.25;

/**
 * From when all is well, a session is served again within this time, or has been given up as expired: what the network has
 * held back arrives, the servers have a leader, the session insists on what it has seen for a while, and finds a server that
 * it asks otherwise, or that has noticed by then that it doesn't lead, or follow.
 */
export function servedBoundMs({ tickMs, syncLimit, sessionTimeoutMs }: PlainTimes): number {
  return (
    HELD_BACK_MS +
    DRIFT * (Math.max(INSISTS_FOR_TIMEOUTS * sessionTimeoutMs, (syncLimit + 1) * tickMs) + DIALING_MS) +
    SMALL_THINGS_MS
  );
}

/** What is on its way late, and what is read again because it may have been too old. */
const READING_MS = 10_000;

/**
 * How long an observer may show a leader after that one's end, whatever goes wrong but its own process: its server may
 * know nothing of that, and answer, for `syncLimit` ticks; then it may be without a server for a session timeout before it
 * says that it doesn't know, and takes up to one to notice that.
 */
export function staleBoundMs({ tickMs, syncLimit, sessionTimeoutMs }: PlainTimes): number {
  return DRIFT * ((syncLimit + 1) * tickMs + 2 * sessionTimeoutMs) + READING_MS;
}

/** As many packets of a takeover may be lost, one after the other, and take so much longer. */
const PACKETS_LOST = 3;
const LOST_PACKET_MS = 800;

/**
 * From when a leader is silent, and nothing else is wrong, until another one acts: its last heartbeat is seen at the next read, a
 * quarter of a lease later; then the delay is waited out, once for each candidate that comes first; and the claim needs a
 * heartbeat of the candidate's own, up to another quarter later.
 *
 * @param rank - how many candidates come first
 */
export function silentBoundMs(leaseMs: number, rank: number): number {
  return (
    DRIFT * ((rank + 1) * takeoverDelayMs(leaseMs) + leaseMs / 2) +
    PACKETS_LOST * LOST_PACKET_MS +
    SMALL_THINGS_MS
  );
}

/** From the death of a guarded leader, when nothing else is wrong: some twenty round trips, and now and then a lost packet. */
export const GUARDED_BOUND_MS = 5000;

/**
 * How long a candidate may take to stop, beyond what its application takes and while its process runs: a lease and a half,
 * the close of its session, and, for one that makes its sessions by itself, the pause that it is in.
 */
export function stopBoundMs(sessionTimeoutMs: number): number {
  return DRIFT * (sessionTimeoutMs / 2 + 2000) + 1500;
}

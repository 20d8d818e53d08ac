import { NextLeaderWatch } from '../../election/candidates/next-leader-watch.js';
import { readRecord } from '../../election/record/election-reader.js';
import { releaseTerm } from '../../election/term/release-term.js';
import type { ReleasableClaim } from '../../election/term/term.js';
import { NodeLostError, SessionExpiredError } from '../../errors.js';
import { RecordLostError } from '../../lease/node-with-heartbeat.js';
import { LockNode } from '../../lease/own-node.js';
import { abortable, ignore } from '../../platform/async/promises.js';
import { parseEntry, type QueueEntry } from '../../queue/names-and-order.js';
import type { ConnectSource } from '../../session/connection/server-list.js';
import { ifThere } from '../../session/operations.js';
import { Session } from '../../session/session.js';
import type { SessionOptions } from '../../session/session-options.js';
import { isOutdated } from '../../session/versioned-records.js';
import type { OpenSession } from './guarded-process.js';
import { buryMember, type ReportedMember } from './remove-shard-member.js';

/** The outcome of the clean-up of one session. */
export interface SessionCleanup {
  /** How many terms were led with it. */
  readonly terms: number;
  /** In how many groups of shards it was a member. */
  readonly members: number;
  /**
   * Whether all of them were given back cleanly, so that the successors needn't wait until the dead leader's lease is over. It
   * is also `false` if a term had ended before, or if the last term wasn't known yet.
   */
  readonly clean: boolean;
  /** The error, if there was one. Then the session ends by its timeout. */
  readonly cause?: unknown;
}

// Longer than servers let a session live by default (40 s). If a process reports a longer timeout, the clean-up doesn't wait for it.
const LONGEST_WAIT_MS = 600_000;

/**
 * Gives back what a dead process led, and closes its session. Only for a process that has surely ended: it takes the session from its
 * client. Never rejects; ends within twice the session's own timeout, and 20 minutes at most, after which there is nothing left to do.
 *
 * Only the process's own reports say what it led. So the guardian writes nothing before ZooKeeper has confirmed the report: the
 * node is the session's own and in the election's queue, and the record says that it leads. If either changes after that, the
 * servers refuse the writes. Otherwise a process could make the guardian overwrite anything that `options.auth` may write.
 *
 * @param servers - without a chroot: paths are absolute
 * @param options - the `auth`, `sasl` and `tls` of the session
 */
export async function cleanUpSession(
  servers: ConnectSource,
  { credentials, timeoutMs, claims, waits, members }: OpenSession,
  options: Omit<SessionOptions, 'signal'>,
): Promise<SessionCleanup> {
  let terms = claims.length;
  const outcome = { members: members.length };
  const waitMs = Math.min(timeoutMs, LONGEST_WAIT_MS);
  try {
    const resolved = { ...options, sessionTimeoutMs: waitMs, connectTimeoutMs: waitMs };
    // The session's errors are in the outcome.
    const session = await Session.takeOver(servers, credentials, resolved, { onError: ignore });
    try {
      const inTime = (act: (signal: AbortSignal) => Promise<void>) => within(session, waitMs, act);
      const burials = Promise.all(members.map((member) => inTime((signal) => bury(session, member, signal))));
      const release = (claim: ReleasableClaim, signal: AbortSignal) =>
        giveBack(session, claim, burials, signal);
      const releases = [
        ...claims.map((claim) => inTime((signal) => release(claim, signal))),
        ...waits.map((election) =>
          inTime(async (signal) => {
            const handed = await handedOver(session, election, signal);
            if (handed === undefined) return;
            terms++;
            await release(handed, signal);
          }),
        ),
      ];
      const failures = [...(await burials), ...(await Promise.all(releases))];
      const cause = failures.find((each) => each !== undefined && !isEnded(each));
      return { ...outcome, terms, clean: failures.every((each) => each === undefined), cause };
    } finally {
      await session.close();
    }
  } catch (cause) {
    // The servers don't know the session: its own process has closed it, or it has expired.
    if (cause instanceof SessionExpiredError)
      return { ...outcome, terms, clean: claims.length + members.length === 0 };
    return { ...outcome, terms, clean: false, cause };
  }
}

/** The term, or the membership, had ended before: its process couldn't report that, or the reply to the first of two attempts was lost. */
class OutdatedClaim extends Error {}

function isEnded(error: unknown): boolean {
  // The record of a node that is there says something else: another client has overwritten it, or the process had never led by it.
  if (error instanceof RecordLostError) return false;
  return error instanceof OutdatedClaim || error instanceof NodeLostError || isOutdated(error);
}

/** Returns the error, if there was one. Then the other candidates wait as after any unclean end. */
async function within(
  session: Session,
  atMostMs: number,
  act: (signal: AbortSignal) => Promise<void>,
): Promise<unknown> {
  const timeout = new AbortController();
  const timer = session.clock.after(atMostMs, () => timeout.abort());
  try {
    await act(timeout.signal);
    return undefined;
  } catch (error) {
    return error;
  } finally {
    timer.clear();
  }
}

/**
 * Releases the term as its leader would have done: behind a look at the record, since the guardian has only the process's word for it.
 * @param burials - the release waits until these have ended, so that a member that takes over a group's planning plans without its dead
 *   members
 */
async function giveBack(
  session: Session,
  claim: ReleasableClaim,
  burials: Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const wrong = (why: string) =>
    new Error(
      `nothing was written for its term ${claim.term} of ${claim.record}: ${why}. The process that reported it is faulty, or isn't allowed to report it`,
    );
  const entry = candidateOf(claim);
  if (entry === undefined) throw wrong(`${claim.node} is not a candidate of that election`);
  const node = LockNode.of(session, claim.node);
  const holder = { session, queue: claim.record, entry, node };
  const next = new NextLeaderWatch(holder);
  await abortable(node.renew(), signal); // A server that is behind may not have the node yet. Behind a committed write it has.
  const [stat, successor] = await Promise.all([
    session.retryUntilAnswered(() => session.exists(claim.node), signal),
    abortable(next.find(), signal),
  ]);
  if (stat !== undefined && !session.owns(stat)) throw wrong(`${claim.node} belongs to another session`);
  await burials;
  await abortable(releaseTerm(holder, { ...claim, connection: undefined }, next, successor), signal);
}

/** The term of that election which was handed over to a candidate of this session; `undefined` if none was. */
async function handedOver(
  session: Session,
  election: string,
  signal: AbortSignal,
): Promise<ReleasableClaim | undefined> {
  const seen = await ifThere(readRecord(session, election, signal));
  if (seen?.value.state !== 'held') return undefined;
  const node = `${election}/${seen.value.node}`;
  const stat = await session.retryUntilAnswered(() => session.exists(node), signal);
  if (stat === undefined || !session.owns(stat)) return undefined;
  return { record: election, version: seen.version, term: seen.value.term, node };
}

async function bury(session: Session, member: ReportedMember, signal: AbortSignal): Promise<void> {
  if (!(await buryMember(session, member, signal))) throw new OutdatedClaim();
}

/** The candidate that a claim names; `undefined` if its node isn't directly below the election whose record the claim names. */
export function candidateOf({ record, node }: ReleasableClaim): QueueEntry | undefined {
  const slash = node.lastIndexOf('/');
  return record === node.slice(0, slash) ? parseEntry(node.slice(slash + 1)) : undefined;
}

import { SuccessorSearch } from '../../election/candidates/find-next-leader.js';
import type { Successor } from '../../election/candidates/successor.js';
import { parseRecord } from '../../election/record/record.js';
import type { ReleasableClaim } from '../../election/term/term.js';
import { releaseParts } from '../../election/term/transactions.js';
import { BadVersionError, NoNodeError, SessionExpiredError, ZooKeeperError } from '../../errors.js';
import { abortable, ignore } from '../../platform/async/promises.js';
import { parseEntry } from '../../queue/names-and-order.js';
import type { ConnectSource } from '../../session/connection/server-list.js';
import { ifThere, isUnanswered } from '../../session/operations.js';
import type { NodeData, Stat } from '../../session/protocol/records.js';
import { Session } from '../../session/session.js';
import type { SessionOptions } from '../../session/session-options.js';
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
  { credentials, timeoutMs, claims, members }: OpenSession,
  options: Omit<SessionOptions, 'signal'>,
): Promise<SessionCleanup> {
  const outcome = { terms: claims.length, members: members.length };
  const waitMs = Math.min(timeoutMs, LONGEST_WAIT_MS);
  try {
    const resolved = { ...options, sessionTimeoutMs: waitMs, connectTimeoutMs: waitMs };
    // The session's errors are in the outcome.
    const session = await Session.takeOver(servers, credentials, resolved, { onError: ignore });
    try {
      const inTime = (act: (signal: AbortSignal) => Promise<void>) => within(session, waitMs, act);
      const burials = Promise.all(members.map((member) => inTime((signal) => bury(session, member, signal))));
      const releases = claims.map((claim) => inTime((signal) => giveBack(session, claim, burials, signal)));
      const failures = [...(await burials), ...(await Promise.all(releases))];
      const cause = failures.find((each) => each !== undefined && !isOutdated(each));
      return { ...outcome, clean: failures.every((each) => each === undefined), cause };
    } finally {
      await session.close();
    }
  } catch (cause) {
    // The servers don't know the session: its own process has closed it, or it has expired.
    if (cause instanceof SessionExpiredError)
      return { ...outcome, clean: claims.length + members.length === 0 };
    return { ...outcome, clean: false, cause };
  }
}

/** The term, or the membership, had ended before: its process couldn't report that, or the reply to the first of two attempts was lost. */
class OutdatedClaim extends Error {}

function isOutdated(error: unknown): boolean {
  return error instanceof OutdatedClaim || error instanceof NoNodeError || error instanceof BadVersionError;
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
 * @param burials - the release waits until these have ended, so that a member that takes over a group's planning plans without its dead
 *   members
 */
async function giveBack(
  session: Session,
  claim: ReleasableClaim,
  burials: Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  let [outcome, handsOver]: [ReleaseOutcome, boolean] = ['again', true];
  while (outcome !== 'released') {
    outcome = await release(session, claim, { handsOver, after: burials }, signal);
    if (outcome === 'not-handed') handsOver = false; // The record becomes vacant, and the queue decides.
  }
}

async function bury(session: Session, member: ReportedMember, signal: AbortSignal): Promise<void> {
  if (!(await buryMember(session, member, signal))) throw new OutdatedClaim();
}

/**
 * - `again`: the connection was lost, another session has written the leader's node (for example to request something), or the
 *   successor has left or changed its node. Then everything is read again.
 * - `not-handed`: the servers refuse to hand it over to that successor, for example because its signal is there already.
 */
type ReleaseOutcome = 'released' | 'again' | 'not-handed';

async function release(
  session: Session,
  claim: ReleasableClaim,
  { handsOver, after }: { readonly handsOver: boolean; readonly after: Promise<unknown> },
  signal: AbortSignal,
): Promise<ReleaseOutcome> {
  const connection = session.connectionNumber;
  const queue = claim.node.slice(0, claim.node.lastIndexOf('/'));
  const [check, successor] = await Promise.all([
    verify(session, claim, signal),
    handsOver ? abortable(findSuccessor(session, queue, claim), signal) : undefined,
  ]);
  if (check.kind === 'outdated') throw new OutdatedClaim();
  if (check.kind === 'wrong')
    throw new Error(
      `nothing was written for its term ${claim.term} of ${claim.record}: ${check.why}. The process that reported it is faulty, or isn't allowed to report it`,
    );
  await after;
  // As in `releaseTerm`: on another connection the record may be a restored backup's, at that version by a later claim.
  if (connection === undefined || session.connectionNumber !== connection) return 'again';
  // The heartbeat node goes with the session, which is closed next.
  const deletion = { kind: 'delete', path: claim.node, version: check.nodeVersion } as const;
  try {
    const parts = releaseParts(queue, { ...claim, path: claim.record }, successor, [deletion]);
    await abortable(session.commit(parts), signal);
    return 'released';
  } catch (error) {
    if (isUnanswered(error) || (error instanceof BadVersionError && error.path === claim.node))
      return 'again';
    if (successor === undefined || !(error instanceof ZooKeeperError)) throw error;
    if (error.path === claim.node || error.path === claim.record) throw error;
    const hasChanged = error instanceof NoNodeError || error instanceof BadVersionError;
    return hasChanged && error.path === `${queue}/${successor.node}` ? 'again' : 'not-handed';
  }
}

/**
 * Which candidate leads next, by a listing that is sent with the reads: the one with the highest priority, or the first in the queue
 * behind the dead leader. `undefined`: the record becomes vacant, and the queue decides. Never rejects.
 */
async function findSuccessor(
  session: Session,
  queue: string,
  { node }: ReleasableClaim,
): Promise<Successor | undefined> {
  const leader = parseEntry(node.slice(queue.length + 1));
  if (leader === undefined) return undefined;
  const search = new SuccessorSearch(session, queue);
  try {
    return await search.next(leader, search.listed(leader, await search.listOnce()));
  } catch {
    return undefined;
  }
}

async function verify(session: Session, claim: ReleasableClaim, signal: AbortSignal): Promise<ClaimCheck> {
  if (!isOfOneElection(claim))
    return { kind: 'wrong', why: `${claim.node} is not a candidate of that election` };
  const check = await readAndCheck(session, claim, signal);
  if (check.kind === 'valid') return check;
  // A server that is behind may not have the claim yet. After a committed write it has all that was written before.
  await session.retryUntilAnswered(() => session.commit([{ kind: 'check', path: claim.node }]), signal);
  return await readAndCheck(session, claim, signal);
}

/** Both reads are sent together: they cost one round trip. */
async function readAndCheck(
  session: Session,
  claim: ReleasableClaim,
  signal: AbortSignal,
): Promise<ClaimCheck> {
  const [record, node] = await Promise.all([
    session.retryUntilAnswered(() => ifThere(session.getData(claim.record)), signal),
    session.retryUntilAnswered(() => session.exists(claim.node), signal),
  ]);
  return checkClaim(claim, { record, node }, (stat) => session.owns(stat));
}

/** The two nodes that a claim names, as ZooKeeper has them; `undefined` for a node that doesn't exist. */
export interface ClaimNodes {
  readonly record: NodeData | undefined;
  readonly node: Stat | undefined;
}

/** Whether a reported claim agrees with ZooKeeper. */
export type ClaimCheck =
  | { readonly kind: 'valid'; readonly nodeVersion: number } // The session leads this term, with its node at this version.
  | { readonly kind: 'outdated' } // The term has ended: the process died before it could report that.
  | { readonly kind: 'wrong'; readonly why: string }; // The session doesn't lead what the process reported.

/** Whether the claim's node is a candidate's, directly below the election whose record the claim names. */
export function isOfOneElection({ record, node }: ReleasableClaim): boolean {
  const slash = node.lastIndexOf('/');
  return parseEntry(node.slice(slash + 1)) !== undefined && record === node.slice(0, slash);
}

/**
 * Compares a claim that a process has reported with what was read from ZooKeeper.
 *
 * @param isOwn - whether the node belongs to the session that was taken over
 */
export function checkClaim(
  claim: ReleasableClaim,
  { record, node }: ClaimNodes,
  isOwn: (node: Stat) => boolean,
): ClaimCheck {
  if (node === undefined || record === undefined) return { kind: 'outdated' };
  if (!isOwn(node)) return { kind: 'wrong', why: `${claim.node} belongs to another session` };
  const found = parseRecord(record.data, record.stat.version);
  const name = claim.node.slice(claim.node.lastIndexOf('/') + 1);
  if (found.state !== 'held' || found.node !== name || found.term !== claim.term)
    return { kind: 'wrong', why: `${claim.record} does not say that ${name} leads term ${claim.term}` };
  // Written since the claim.
  if (record.stat.version !== claim.version) return { kind: 'outdated' };
  return { kind: 'valid', nodeVersion: node.version };
}

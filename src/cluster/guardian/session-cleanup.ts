import type { ReleasableClaim } from '../../election/term/claim.js';
import { releaseParts } from '../../election/term/release.js';
import { BadVersionError, NoNodeError, SessionExpiredError } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import type { ConnectTarget } from '../../session/connection/connect-string.js';
import type { NodeData } from '../../session/protocol/records.js';
import { Session } from '../../session/session.js';
import type { SessionOptions } from '../../session/session-options.js';
import { checkDeed, type DeedCheck, isOfOneElection } from './claim-check.js';
import type { OpenSession } from './guarded-process.js';

/** What became of one session whose process has ended. */
export interface SessionCleanup {
  /** How many terms were led with it. */
  readonly terms: number;
  /**
   * Whether they were all given back cleanly, so that their successors needn't wait out the dead leader's lease. `false`
   * also if a term had ended before, or what was led last wasn't known yet.
   */
  readonly clean: boolean;
  /** What went wrong, if anything did. Then the session ends by its timeout. */
  readonly cause?: unknown;
}

// Longer than servers let a session live by default (40 s): a process that tells of a longer one isn't waited for longer.
const LONGEST_WAIT_MS = 600_000;

/**
 * Gives back what a dead process led, and closes its session. Only for a process that has surely ended: it takes the
 * session from whoever has it. Never rejects; ends within twice the session's own timeout, and 20 minutes at most, after which
 * there is nothing left to do.
 *
 * What the process led is only what it has said. So nothing is written before ZooKeeper has said the same: the node is
 * the session's own and stands in the election, and the record says that it leads. The writes are refused if either changes
 * after that. Otherwise one process could have anything overwritten that `options.auth` may write.
 *
 * @param servers - without a chroot: paths are absolute
 * @param options - who the session was to the servers, and how to speak to them
 */
export async function cleanUpSession(
  servers: ConnectTarget,
  { credentials, timeoutMs, deeds }: OpenSession,
  options: Omit<SessionOptions, 'signal'>,
): Promise<SessionCleanup> {
  const outcome = { terms: deeds.length };
  const waitMs = Math.min(timeoutMs, LONGEST_WAIT_MS);
  try {
    const resolved = { ...options, sessionTimeoutMs: waitMs, connectTimeoutMs: waitMs };
    // What goes wrong is the outcome, and told with it.
    const session = await Session.takeOver(servers, credentials, resolved, { onError: ignore });
    try {
      const failures = await Promise.all(deeds.map((deed) => giveBack(session, deed, waitMs)));
      const cause = failures.find((each) => each !== undefined && !isOutdated(each));
      return { ...outcome, clean: failures.every((each) => each === undefined), cause };
    } finally {
      await session.close();
    }
  } catch (cause) {
    // The servers know nothing of it: it was closed by its own process, or has expired.
    if (cause instanceof SessionExpiredError) return { ...outcome, clean: deeds.length === 0 };
    return { ...outcome, clean: false, cause };
  }
}

/** The term had ended before: its process didn't come to tell, or the reply to the first of two tries was lost. */
class OutdatedDeed extends Error {}

function isOutdated(error: unknown): boolean {
  return error instanceof OutdatedDeed || error instanceof NoNodeError || error instanceof BadVersionError;
}

/** Gives what went wrong, if anything did. Then the next candidate waits as after any unclean end. */
async function giveBack(session: Session, deed: ReleasableClaim, atMostMs: number): Promise<unknown> {
  const enough = new AbortController();
  const timer = session.clock.after(atMostMs, () => enough.abort());
  try {
    let released = false;
    while (!released) released = await release(session, deed, enough.signal);
    return undefined;
  } catch (error) {
    return error;
  } finally {
    timer.clear();
  }
}

/** `false`: another session has written the leader's node since it was read, a request say; look again. */
async function release(session: Session, deed: ReleasableClaim, signal: AbortSignal): Promise<boolean> {
  const check = await verify(session, deed, signal);
  if (check.kind === 'outdated') throw new OutdatedDeed();
  if (check.kind === 'wrong')
    throw new Error(
      `nothing was written for its term ${deed.term} of ${deed.record}: ${check.why}. A process that says so is broken, or does what it may not`,
    );
  const parts = releaseParts(deed, undefined, check.nodeVersion);
  try {
    await session.retryUntilAnswered(() => session.commit(parts), signal);
    return true;
  } catch (error) {
    if (error instanceof BadVersionError && error.path === deed.node) return false;
    throw error;
  }
}

async function verify(session: Session, deed: ReleasableClaim, signal: AbortSignal): Promise<DeedCheck> {
  if (!isOfOneElection(deed)) return { kind: 'wrong', why: `${deed.node} is no candidate of that election` };
  const check = await look(session, deed, signal);
  if (check.kind === 'valid') return check;
  // A server that is behind says less than is true. After a committed write it says all.
  await session.retryUntilAnswered(() => session.commit([{ kind: 'check', path: deed.node }]), signal);
  return await look(session, deed, signal);
}

/** Both reads go out together: they cost one round trip. */
async function look(session: Session, deed: ReleasableClaim, signal: AbortSignal): Promise<DeedCheck> {
  const [record, node] = await Promise.all([
    session.retryUntilAnswered(() => readIfThere(session, deed.record), signal),
    session.retryUntilAnswered(() => session.exists(deed.node), signal),
  ]);
  return checkDeed(deed, { record, node }, (stat) => session.owns(stat));
}

async function readIfThere(session: Session, path: string): Promise<NodeData | undefined> {
  try {
    return await session.getData(path);
  } catch (error) {
    if (error instanceof NoNodeError) return undefined;
    throw error;
  }
}

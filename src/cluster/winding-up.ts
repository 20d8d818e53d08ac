import { type Deed, releaseParts } from '../election/deed.js';
import { BadVersionError, NoNodeError, SessionExpiredError } from '../errors.js';
import { ignore } from '../promises.js';
import type { ConnectTarget } from '../session/connect-string.js';
import { Session } from '../session/session.js';
import type { SessionOptions } from '../session/session-options.js';
import type { Estate } from './ward.js';

/** What became of one session whose process has ended. */
export interface WindingUp {
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

/**
 * Gives back what a dead process led, and closes its session. Only for a process that has surely ended: it takes the
 * session from whoever has it. Never rejects; ends within twice the session's own timeout, after which there is nothing
 * left to do.
 *
 * @param servers - without a chroot: paths are absolute
 * @param options - who the session was to the servers, and how to speak to them
 */
export async function windUp(
  servers: ConnectTarget,
  { credentials, timeoutMs, deeds }: Estate,
  options: Omit<SessionOptions, 'signal'>,
): Promise<WindingUp> {
  const outcome = { terms: deeds.length };
  try {
    const resolved = { ...options, sessionTimeoutMs: timeoutMs, connectTimeoutMs: timeoutMs };
    // What goes wrong is the outcome, and told with it.
    const session = await Session.takeOver(servers, credentials, resolved, { onError: ignore });
    try {
      const failures = await Promise.all(deeds.map((deed) => giveBack(session, deed, timeoutMs)));
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

/** Gives what went wrong, if anything did. Then whoever comes next waits as after any unclean end. */
async function giveBack(session: Session, deed: Deed, atMostMs: number): Promise<unknown> {
  const enough = new AbortController();
  const timer = session.clock.after(atMostMs, () => enough.abort());
  try {
    const parts = [{ kind: 'check', path: deed.node } as const, ...releaseParts(deed)];
    await session.untilAnswered(() => session.commit(parts), enough.signal);
    return undefined;
  } catch (error) {
    return error;
  } finally {
    timer.clear();
  }
}

/** The term had ended before: its process didn't come to tell, or the reply to the first of two tries was lost. */
function isOutdated(error: unknown): boolean {
  return error instanceof NoNodeError || error instanceof BadVersionError;
}

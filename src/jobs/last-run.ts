import { checkUtf8 } from '../platform/checks.js';
import { parseJsonObject } from '../platform/json.js';

/** The last firing of a job that a process has run, as the run log in ZooKeeper has it. */
export interface LastRun {
  /** The time for which it was scheduled, in milliseconds since 1970. It is the firing's name in the run log. */
  readonly at: number;
  /** A unique id of this run. */
  readonly id: string;
  /** The token of the term in which it began. */
  readonly token: string;
  /** Set if the run isn't known to have ended. Only runs that a later leader may repeat are marked. */
  readonly open?: true;
  /**
   * Of an open run: how often it has been begun and not been heard of again, this time included. @default 1
   */
  readonly attempts?: number;
}

// The clocks of well-kept servers never differ by more than this, or by as much as counts as the same firing. A job can wait for so long.
export const MOST_SKEW_MS = 60_000;
/** A run that has ended so many processes would end the next one, too. */
export const MOST_ATTEMPTS = 3;

export type Due = 'due' | 'done' | 'due, against a wrong clock';

/**
 * Whether a firing must still run. Firings run in order, so that a host with a slow clock doesn't run a firing again. If the
 * last run is far in the future, a host with a wrong clock has written it. It must not keep the job from running until then.
 *
 * @param now - the time of day by this host
 * @param atLeastMs - a firing nearer than this to the last run is the same one
 */
export function isDue(at: number, last: LastRun | undefined, now: number, atLeastMs: number): Due {
  if (last === undefined) return 'due';
  if (last.at - now > Math.max(MOST_SKEW_MS, atLeastMs)) return 'due, against a wrong clock';
  return at > last.at && at - last.at >= atLeastMs ? 'due' : 'done';
}

/** Whether the run was cut off in an earlier term, as far as the record says. */
export function isCutOff(last: LastRun | undefined, token: bigint): last is LastRun {
  return last?.open === true && last.token !== String(token);
}

/** The name of the node that holds a job's last run. @throws InvalidOptionError for a name without a UTF-8 form */
export function jobNodeNameOf(job: string): string {
  return encodeURIComponent(checkUtf8('job', job)).replaceAll('.', '%2E');
}

export function serializeLastRun({ at, id, token, open, attempts }: LastRun): Buffer {
  return Buffer.from(JSON.stringify({ at, note: id, token, open, attempts }));
}

/** Unreadable data count as no run, because any client may have written them. */
export function parseLastRun(data: Buffer): LastRun | undefined {
  const { at, note: id, token, open, attempts } = parseJsonObject(data) ?? {};
  if (typeof at !== 'number' || typeof id !== 'string' || typeof token !== 'string') return undefined;
  if (open !== true) return { at, id, token };
  return typeof attempts === 'number' ? { at, id, token, open, attempts } : { at, id, token, open };
}

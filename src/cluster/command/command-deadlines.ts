/** How things stand with a command that may run only while a lease lasts. Instants are by one clock, in milliseconds. */
export interface Situation {
  readonly now: number;
  /** When the lease ends that is known now. It may get longer until then. */
  readonly leaseEnd: number;
  /** How long a lease is. */
  readonly leaseMs: number;
  /** How long the command may take to end once it was asked to. */
  readonly graceMs: number;
  /** When it was asked to, if it was. */
  readonly askedAt: number | undefined;
}

/** What is to be done about the command: nothing for a while, SIGTERM, or SIGKILL. */
export type Step =
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'ask' }
  | { readonly do: 'kill' };

// A timer of a process that has nothing else to do is seldom late by more, and what is killed is gone soon after.
const LEAST_MARGIN_MS = 100;

/**
 * How long before the lease's end the command is killed at the latest: an eighth of a lease, for timers that are late and
 * processes that take a moment to die.
 */
export function killMarginMs(leaseMs: number): number {
  return Math.min(Math.max(leaseMs / 8, LEAST_MARGIN_MS), leaseMs / 4);
}

/**
 * How long before it is killed a command is asked to end when its lease isn't renewed. Heartbeats come four times a
 * lease, so at a quarter of a lease and the margin before its end one and a half of them in a row have failed.
 */
export function warningMs(leaseMs: number, graceMs: number): number {
  return Math.min(graceMs, leaseMs / 4);
}

/** The next step. Never to wait beyond the lease's end less {@link killMarginMs}, whatever the grace is. */
export function nextStep({ now, leaseEnd, leaseMs, graceMs, askedAt }: Situation): Step {
  const killBy = leaseEnd - killMarginMs(leaseMs);
  const killAt = askedAt === undefined ? killBy : Math.min(killBy, askedAt + graceMs);
  if (now >= killAt) return { do: 'kill' };
  if (askedAt !== undefined) return { do: 'wait', ms: killAt - now };
  const askAt = killAt - warningMs(leaseMs, graceMs);
  return now >= askAt ? { do: 'ask' } : { do: 'wait', ms: askAt - now };
}

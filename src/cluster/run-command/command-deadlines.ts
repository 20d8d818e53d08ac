import { heartbeatMs } from '../../platform/time/heartbeat-intervals.js';

/** The facts that decide whether a command may go on running. Instants are by one clock, in milliseconds. */
export interface CommandTimes {
  readonly now: number;
  readonly leaseEnd: number; // When the lease ends, as far as it is known now. It may be renewed until then.
  readonly leaseMs: number; // How long a lease is.
  readonly graceMs: number; // How long the command may take to end after it was asked to.
  readonly endRequestedAt: number | undefined; // When the command was asked to end, if it was.
}

/** What to do about the command: nothing for a while, SIGTERM, or SIGKILL. */
export type CommandStep =
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'terminate' }
  | { readonly do: 'kill' };

// In a process that does nothing else a timer is seldom later than this, and a killed process is gone soon after.
const LEAST_MARGIN_MS = 100;

/** How long before the lease's end the command is killed at the latest: timers may be late, and processes take time to die. */
export function killMarginMs(leaseMs: number): number {
  return Math.min(Math.max(heartbeatMs(leaseMs) / 2, LEAST_MARGIN_MS), heartbeatMs(leaseMs));
}

/**
 * How long before SIGKILL a command is sent SIGTERM when its lease isn't renewed. Heartbeats come four times a lease, so
 * at a quarter of a lease plus the margin before its end one and a half heartbeats in a row have failed.
 */
export function warningMs(leaseMs: number, graceMs: number): number {
  return Math.min(graceMs, heartbeatMs(leaseMs));
}

/** The next step. Even with a long grace it never waits beyond the lease's end less {@link killMarginMs}. */
export function nextStep({ now, leaseEnd, leaseMs, graceMs, endRequestedAt }: CommandTimes): CommandStep {
  const killBy = leaseEnd - killMarginMs(leaseMs);
  const killAt = endRequestedAt === undefined ? killBy : Math.min(killBy, endRequestedAt + graceMs);
  if (now >= killAt) return { do: 'kill' };
  if (endRequestedAt !== undefined) return { do: 'wait', ms: killAt - now };
  const terminateAt = killAt - warningMs(leaseMs, graceMs);
  return now >= terminateAt ? { do: 'terminate' } : { do: 'wait', ms: terminateAt - now };
}

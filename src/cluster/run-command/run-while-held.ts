import type { Term } from '../../election/term/term.js';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { heartbeatMs } from '../../platform/time/heartbeat-intervals.js';
import { machineInstantIn, msUntil } from '../../platform/time/machine-instant.js';
import { killMarginMs } from './command-deadlines.js';
import type { CommandOutcome, KeeperHandle } from './keeper-handle.js';
import type { CommandLease, CommandLine } from './keeper-messages.js';

/**
 * Runs a command while a term is held: sends its keeper each renewal of the lease, and the term's end. Resolves when
 * nothing of the command runs any more.
 *
 * The keeper kills the command before the lease's end. This process kills it at the same time, unless it is stopped or
 * blocked itself. A keeper that hasn't reported the command's end half a margin later is killed too.
 */
export async function runWhileHeld(
  term: Term,
  keeper: KeeperHandle,
  line: CommandLine,
  { clock, leaseMs, graceMs }: Omit<CommandLease, 'leaseEnd'> & { readonly clock: Clock },
): Promise<CommandOutcome> {
  await keeper.whenReady();
  if (!term.isHeld()) keeper.dismiss();
  if (keeper.hasEnded) return await keeper.outcome; // It has died, or was dismissed.
  let leaseEnd = machineInstantIn(() => term.remainingMs());
  let timer: Timer | undefined;
  const check = () => {
    if (term.isHeld()) {
      leaseEnd = machineInstantIn(() => term.remainingMs());
      keeper.extendLease(leaseEnd);
    }
    const killInMs = msUntil(leaseEnd) - killMarginMs(leaseMs);
    const killKeeperInMs = killInMs + killMarginMs(leaseMs) / 2;
    if (killKeeperInMs <= 0) return keeper.kill();
    if (killInMs <= 0) keeper.killCommand();
    timer = clock.after(Math.min(heartbeatMs(leaseMs) / 2, killInMs > 0 ? killInMs : killKeeperInMs), check);
  };
  keeper.start(line, { leaseEnd, leaseMs, graceMs });
  check();
  // The command may take its grace: the lease that was known last still holds, and no other leader acts before its end.
  const unsubscribe = onAbort(term.signal, () => keeper.end('SIGTERM'));
  try {
    return await keeper.outcome;
  } finally {
    timer?.clear();
    unsubscribe();
  }
}

import type { Term } from '../../election/term/term.js';
import { onAbort } from '../../platform/async/lazy-abort.js';
import { type Clock, machineInstantIn, type Timer } from '../../platform/time/clock.js';
import { killMarginMs } from './command-deadlines.js';
import type { CommandLine } from './keeper-messages.js';
import type { CommandOutcome, KeeperProcess } from './keeper-process.js';

/** How a command is kept. */
export interface KeepingOptions {
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly graceMs: number;
}

/** How often the keeper is told of the lease, in leases: heartbeats renew it four times in one. */
const TELL_EVERY = 1 / 8;

/**
 * Runs a command while a term is held: tells its keeper of each renewal of the lease, and of the term's end. Resolves when
 * nothing of the command runs any more.
 *
 * The keeper kills it before the lease's end. So does this process at the same time, unless it is stopped or blocked
 * itself; and a keeper that hasn't told of the command's end half a margin later is killed, and done without.
 */
export async function keepWhileHeld(
  term: Term,
  keeper: KeeperProcess,
  line: CommandLine,
  { clock, leaseMs, graceMs }: KeepingOptions,
): Promise<CommandOutcome> {
  await keeper.whenReady();
  if (!term.isHeld()) keeper.dismiss();
  if (keeper.hasEnded) return await keeper.outcome; // It has died, or was told that nothing is to be started any more.
  let leaseEnd = clock.now() + term.remainingMs();
  let timer: Timer | undefined;
  const look = () => {
    if (term.isHeld()) {
      leaseEnd = clock.now() + term.remainingMs();
      keeper.extend(machineInstantIn(() => term.remainingMs()));
    }
    const untilKill = leaseEnd - killMarginMs(leaseMs) - clock.now();
    const untilLoss = untilKill + killMarginMs(leaseMs) / 2;
    if (untilLoss <= 0) return keeper.kill();
    if (untilKill <= 0) keeper.killCommand();
    timer = clock.after(Math.min(leaseMs * TELL_EVERY, untilKill > 0 ? untilKill : untilLoss), look);
  };
  keeper.start(line, { leaseEnd: machineInstantIn(() => term.remainingMs()), leaseMs, graceMs });
  look();
  // What was known of the lease still holds: nobody else acts before its end.
  const forget = onAbort(term.signal, () => keeper.end('SIGTERM'));
  try {
    return await keeper.outcome;
  } finally {
    timer?.clear();
    forget();
  }
}

import { type Clock, machineInstantIn, type Timer } from '../../clock.js';
import type { Term } from '../../election/term.js';
import { onAbort } from '../../promises.js';
import type { CommandOutcome, KeeperProcess } from './keeper-process.js';
import type { CommandLine } from './protocol.js';
import { killMarginMs } from './schedule.js';

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
 * The keeper kills it before the lease's end. One that hasn't half a margin later is stopped or worse, and then it is
 * killed from here.
 */
export async function keepWhileHeld(
  term: Term,
  keeper: KeeperProcess,
  line: CommandLine,
  { clock, leaseMs, graceMs }: KeepingOptions,
): Promise<CommandOutcome> {
  await keeper.ready;
  if (!term.isHeld()) keeper.dismiss();
  if (keeper.isOver) return await keeper.outcome; // It has died, or was told that nothing is to be started any more.
  let leaseEnd = clock.now() + term.remainingMs();
  let timer: Timer | undefined;
  const look = () => {
    if (term.isHeld()) {
      leaseEnd = clock.now() + term.remainingMs();
      keeper.extend(machineInstantIn(term.remainingMs()));
    }
    const leftMs = leaseEnd - killMarginMs(leaseMs) / 2 - clock.now();
    if (leftMs <= 0) return keeper.kill();
    timer = clock.after(Math.min(leaseMs * TELL_EVERY, leftMs), look);
  };
  keeper.start(line, { leaseEnd: machineInstantIn(term.remainingMs()), leaseMs, graceMs });
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

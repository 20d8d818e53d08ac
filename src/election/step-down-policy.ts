import { type Clock, sleep } from '../platform/time/clock.js';
import type { LeaderElectorOptions, Revocation } from './elector-options.js';

/**
 * Whether a leader steps down: its policy `onRevoke` decides. It also steps down if the policy fails (`onFailure`) or
 * outlasts the grace.
 */
export async function stepsDown(
  onRevoke: LeaderElectorOptions['onRevoke'],
  revocation: Revocation,
  clock: Clock,
  onFailure: (cause: unknown) => void,
): Promise<boolean> {
  if (onRevoke === undefined) return true;
  const decided = new AbortController();
  const decision = (async () => (await onRevoke(revocation)) !== false)().catch((cause: unknown) => {
    onFailure(cause);
    return true;
  });
  const ended = AbortSignal.any([decided.signal, revocation.term.signal]);
  const graceOver = sleep(clock, revocation.graceMs, ended).then(
    () => true,
    () => true, // The policy has decided, or the term has ended for another reason. Nothing is left to decide.
  );
  try {
    return await Promise.race([decision, graceOver]);
  } finally {
    decided.abort();
  }
}

import { runWithin, WorkContext, workContexts } from '../platform/async/work-context.js';
import type { LockGrant } from './grant.js';

/** Work that is done under locks, from when they are held until it has settled. */
class LockedWork extends WorkContext {
  readonly places: readonly LockGrant[];

  constructor(places: readonly LockGrant[]) {
    super();
    this.places = places;
  }
}

/**
 * The place by which the work that calls this holds `lock`: that of the innermost `using` around it whose work still goes
 * on. What is begun in such work belongs to it, also when it isn't waited for; nothing else does.
 */
export function heldAround(lock: object): LockGrant | undefined {
  for (const undertaking of workContexts()) {
    if (!(undertaking instanceof LockedWork)) continue;
    const held = undertaking.places.find((place) => place.lock === lock && !place.isGivenUp);
    if (held !== undefined) return held;
  }
  return undefined;
}

/** Does `work` as what is done under the locks that these places are held of. */
export async function runUnder<T>(places: readonly LockGrant[], work: () => T | PromiseLike<T>): Promise<T> {
  const locked = new LockedWork(places);
  try {
    return await runWithin(locked, work);
  } finally {
    locked.finish();
  }
}

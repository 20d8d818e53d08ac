import { runWithin, WorkContext, workContexts } from '../platform/async/work-context.js';
import type { ReentrantGrant } from './reentrant-grant.js';

/** A piece of work that runs under locks, from when they are held until the work has settled. */
class LockedWork extends WorkContext {
  readonly grants: readonly ReentrantGrant[];

  constructor(grants: readonly ReentrantGrant[]) {
    super();
    this.grants = grants;
  }
}

/**
 * The grant by which the calling work holds `lock`: that of the innermost `using` around the caller whose work hasn't settled.
 * All code that this work begins belongs to it, even if the work doesn't await it.
 */
export function heldAround(lock: object): ReentrantGrant | undefined {
  for (const context of workContexts()) {
    if (!(context instanceof LockedWork)) continue;
    const held = context.grants.find((grant) => grant.lock === lock && grant.state !== 'released');
    if (held !== undefined) return held;
  }
  return undefined;
}

export async function runUnder<T>(
  grants: readonly ReentrantGrant[],
  work: () => T | PromiseLike<T>,
): Promise<T> {
  const locked = new LockedWork(grants);
  try {
    return await runWithin(locked, work);
  } finally {
    locked.finish();
  }
}

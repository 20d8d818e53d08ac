import { sleep } from '../../../src/clock.js';
import { DistributedLock } from '../../../src/lock/distributed-lock.js';
import { ignore } from '../../../src/promises.js';
import type { Random } from '../../helpers/random.js';
import type { Candidate, Surroundings } from './candidate.js';

export const LOCK = '/locks/report';

/** Uses a lock over the session of a candidate once, as an application would. */
export async function useLock(
  candidate: Candidate,
  random: Random,
  surroundings: Surroundings,
): Promise<void> {
  const { scheduler, ledger, lockResource } = surroundings;
  const { clock } = candidate.environment;
  try {
    const lock = new DistributedLock(await candidate.session(), LOCK);
    const timeoutMs = random.chance(0.3) ? 0 : random.spread(10, 30_000);
    await ledger.expect(
      `${candidate.id}: using a lock`,
      lock.using(
        async (hold) => {
          ledger.count('locks held');
          const { token } = hold;
          scheduler.after(random.between(0, 20), () => lockResource.write(token));
          await sleep(clock, random.spread(1, 10_000), hold.signal).catch(ignore); // It ends early when it is lost.
        },
        { timeoutMs },
      ),
      () => candidate.isDead,
    );
  } catch {
    ledger.count('locks not had');
  }
}

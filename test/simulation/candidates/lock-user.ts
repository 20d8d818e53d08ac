import { DistributedLock } from '../../../src/lock/distributed-lock.js';
import { GrantHold, type LockHold } from '../../../src/lock/lock-hold.js';
import type { AcquireOptions } from '../../../src/lock/lock-interface.js';
import type { MultiHold } from '../../../src/lock/multi-lock/multi-hold.js';
import { MultiLock } from '../../../src/lock/multi-lock/multi-lock.js';
import type { QueueLock } from '../../../src/lock/queue-lock.js';
import { ReadWriteLock } from '../../../src/lock/read-write-lock.js';
import { Semaphore } from '../../../src/lock/semaphore.js';
import { ignore } from '../../../src/platform/async/promises.js';
import { leaseStart, sleep } from '../../../src/platform/time/clock.js';
import type { Session } from '../../../src/session/session.js';
import type { Random } from '../../support/seeded-random.js';
import type { Capacity } from '../lock-checker.js';
import type { Candidate, Surroundings } from './candidate.js';

const REPORT = '/locks/report';
const TABLE = '/locks/table';
const UPLOADS = '/locks/uploads';
/** The seats of the semaphore, which all three processes want. */
const UPLOADS_SEATS = 2;

/** The queues of all locks, and how many may hold each. */
const LOCKS: ReadonlyMap<string, Capacity> = new Map([
  [REPORT, { seats: 1, readers: false }],
  [TABLE, { seats: 1, readers: true }],
  [UPLOADS, { seats: UPLOADS_SEATS, readers: false }],
]);
export const LOCK_PATHS: readonly string[] = [...LOCKS.keys()];

const LONGEST_WAIT_MS = 30_000;
const USUAL_HOLD_MS = 10_000;
/** So long that the holder's session may end meanwhile, if that is a short one. */
const LONG_HOLD_MS = [6000, 30_000] as const;

/** The choices of locks. Candidates that want several at the same time mostly want the same ones. */
export const WANTED = ['report', 'table', 'uploads', 'several'] as const;
export type Wanted = (typeof WANTED)[number];

/** Uses a lock of some kind over the session of a candidate once, as an application would, or gives up. */
export async function useLock(
  candidate: Candidate,
  wanted: Wanted,
  random: Random,
  surroundings: Surroundings,
): Promise<void> {
  const { ledger } = surroundings;
  const use = { candidate };
  surroundings.lockUses.add(use);
  try {
    const user = new LockUser(candidate, await candidate.session(), wanted, random, surroundings);
    await ledger.expect(`${candidate.id}: ${user.describe}`, user.run(), () => candidate.isDead);
    ledger.count(`locks: ${user.describe}`);
  } catch {
    ledger.count('locks: not had, or lost');
  } finally {
    surroundings.lockUses.delete(use);
  }
}

type Way = 'using' | 'acquire' | 'tryAcquire' | 'downgrade' | 'using to downgrade';

/** One use of one lock. */
class LockUser {
  readonly describe: string;
  readonly #candidate: Candidate;
  readonly #session: Session;
  readonly #random: Random;
  readonly #surroundings: Surroundings;
  readonly #table: ReadWriteLock;
  readonly #lock: QueueLock | MultiLock;
  readonly #way: Way;

  constructor(
    candidate: Candidate,
    session: Session,
    wanted: Wanted,
    random: Random,
    surroundings: Surroundings,
  ) {
    this.#candidate = candidate;
    this.#session = session;
    this.#random = random;
    this.#surroundings = surroundings;
    this.#table = new ReadWriteLock(session, TABLE);
    const report = new DistributedLock(session, REPORT);
    const uploads = new Semaphore(session, UPLOADS, UPLOADS_SEATS);
    const { readLock, writeLock } = this.#table;
    const choices: Record<Wanted, readonly (readonly [kind: string, QueueLock | MultiLock])[]> = {
      report: [['lock', report]],
      table: [
        ['read', readLock],
        ['write', writeLock],
      ],
      uploads: [['semaphore', uploads]],
      several: [
        ['several', new MultiLock([uploads, writeLock, report])],
        ['several', new MultiLock([readLock, report])],
      ],
    };
    const [kind, lock] = random.pick(choices[wanted]);
    this.#lock = lock;
    const ways: readonly Way[] = ['using', 'using', 'acquire', 'tryAcquire'];
    this.#way = random.pick(lock === writeLock ? [...ways, 'downgrade', 'using to downgrade'] : ways);
    this.describe = `${kind}: ${this.#way}`;
  }

  async run(): Promise<void> {
    switch (this.#way) {
      case 'using':
        return await this.#givingUp((options) => this.#lock.using((hold) => this.#workUnder(hold), options));
      case 'acquire':
        return await this.#workUntilReleased(await this.#givingUp((options) => this.#lock.acquire(options)));
      case 'tryAcquire': {
        const hold = await this.#noted(this.#lock.tryAcquire());
        return hold && (await this.#workUntilReleased(hold));
      }
      case 'downgrade':
        return await this.#downgrade();
      case 'using to downgrade':
        return await this.#downgradeByUsing();
    }
  }

  /** With a time-out, or a signal that aborts at some moment, or when the connection has just been lost. */
  async #givingUp<T>(acquire: (options: AcquireOptions) => Promise<T>): Promise<T> {
    const random = this.#random;
    const afterMs = this.#patienceMs();
    if (random.chance(0.5))
      return await this.#noted(acquire({ timeoutMs: random.chance(0.3) ? 0 : afterMs }));
    const giveUp = new AbortController();
    const { clock } = this.#candidate.environment;
    const abort = () => giveUp.abort(new Error('not wanted any more'));
    // Not by a timer of the process: the request to stop may come from outside it.
    this.#surroundings.scheduler.after(afterMs, () => clock.receive(abort));
    if (random.chance(0.5)) this.#session.once('suspended', abort);
    try {
      return await this.#noted(acquire({ signal: giveUp.signal }));
    } finally {
      this.#session.off('suspended', abort);
    }
  }

  #patienceMs(): number {
    const random = this.#random;
    if (random.chance(0.3)) return random.between(0, 20);
    return random.chance(0.5) ? LONGEST_WAIT_MS : random.spread(10, LONGEST_WAIT_MS);
  }

  /** Notes the pending acquire, so that a place that is taken after it was given up is noticed. */
  async #noted<T>(acquiring: Promise<T>): Promise<T> {
    const { acquiring: wanted, clock } = this.#candidate.environment;
    const paths =
      this.#lock instanceof MultiLock ? this.#lock.locks.map(({ path }) => path) : [this.#lock.path];
    const count = (by: 1 | -1) => {
      for (const path of paths)
        wanted.set(path, { count: (wanted.get(path)?.count ?? 0) + by, endedAt: leaseStart(clock) });
    };
    count(1);
    try {
      return await acquiring;
    } finally {
      count(-1);
    }
  }

  async #workUntilReleased(hold: LockHold): Promise<void> {
    try {
      await this.#workUnder(hold);
    } finally {
      await hold.release();
    }
  }

  async #workUnder(hold: LockHold): Promise<void> {
    this.#begun(hold);
    await this.#pause(hold);
  }

  /** Reports the hold to the checker. Returns a function that reports that the hold goes on as a shared one. */
  #begun(hold: LockHold, readsOn = false): () => void {
    const { lockChecker, scheduler, lockResource } = this.#surroundings;
    const single = hold instanceof GrantHold ? [hold] : ((hold as MultiHold).holds as readonly GrantHold[]);
    const onReadOnly = single.map((each) => {
      const queue = each.path.slice(0, each.path.lastIndexOf('/'));
      const isReading = readsOn || each.mode === 'shared';
      return lockChecker.begun(this.#candidate, queue, LOCKS.get(queue) as Capacity, each, isReading);
    });
    const { token } = hold;
    if (this.#lock instanceof DistributedLock && hold.isHeld())
      scheduler.after(this.#random.between(0, 20), () => lockResource.write(token));
    return () => {
      for (const report of onReadOnly) report();
    };
  }

  async #downgrade(): Promise<void> {
    const writing = await this.#givingUp((options) => this.#table.writeLock.acquire(options));
    try {
      const goOnReading = this.#begun(writing);
      await this.#pause(writing);
      goOnReading();
      await this.#readOn(await this.#table.downgrade(writing), writing);
    } finally {
      await writing.release();
    }
  }

  /** A read hold that is acquired within a write hold outlives the latter. */
  async #downgradeByUsing(): Promise<void> {
    const { readLock, writeLock } = this.#table;
    const [reading, writing] = await this.#givingUp((options) =>
      writeLock.using(async (hold) => {
        const goOnReading = this.#begun(hold);
        await this.#pause(hold);
        const kept = await readLock.acquire();
        goOnReading();
        return [kept, hold] as const;
      }, options),
    );
    await this.#readOn(reading, writing);
  }

  async #readOn(reading: LockHold, writing: LockHold): Promise<void> {
    if (reading.token !== writing.token)
      this.#surroundings.ledger.violate('downgrade', `${writing.path} became ${reading.path}`);
    try {
      this.#begun(reading, true);
      await this.#pause(reading);
    } finally {
      await reading.release();
    }
  }

  /** It ends early when the lock is lost. */
  async #pause(hold: LockHold): Promise<void> {
    const random = this.#random;
    const ms = random.chance(0.3) ? random.between(...LONG_HOLD_MS) : random.spread(1, USUAL_HOLD_MS);
    await sleep(this.#candidate.environment.clock, ms, hold.signal).catch(ignore);
  }
}

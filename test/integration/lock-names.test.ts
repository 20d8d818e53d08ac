/** Locks in queues whose numbers are near the end of a server's counter, and in queues with children that aren't contenders. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import { ReadWriteLock } from '../../src/lock/read-write-lock.js';
import { deferred } from '../../src/platform/async/promises.js';
import { systemEnvironment } from '../../src/platform/injected-environment.js';
import { entryPrefix, parseLockEntry } from '../../src/queue/names-and-order.js';
import type { Session } from '../../src/session/session.js';
import { enqueue } from '../support/conclave/enqueue.js';
import { type AnyLock, LOCK_KINDS } from '../support/conclave/lock-kinds.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { startWithSequenceNumbers } from '../support/servers/sequence-numbers.js';

const UUID = '01234567-89ab-cdef-0123-456789abcdef';
const LAST_NUMBER = 2 ** 31 - 1;

/** The holders of a lock, as {@link takeTurns} records them. */
interface Turns {
  readonly tokens: bigint[];
  readonly nodes: string[];
  /** The number of holders at each beginning of a hold. */
  readonly together: number[];
}

/** Acquires all locks, one after the other or all at once, and releases each hold when all that may hold with it have come. */
async function takeTurns(locks: readonly AnyLock[], how: 'one by one' | 'at once'): Promise<Turns> {
  const turns: Turns = { tokens: [], nodes: [], together: [] };
  let holding = 0;
  const take = async (hold: LockHold) => {
    turns.together.push(++holding);
    turns.tokens.push(hold.token);
    turns.nodes.push(hold.path);
    await new Promise((resolve) => setTimeout(resolve, 10)); // Time for another contender to hold as well, if it wrongly does.
    holding--;
    await hold.release();
  };
  const taking: Promise<void>[] = [];
  for (const lock of locks) {
    const inQueue = deferred();
    const acquired = lock.acquire({ onWaiting: () => inQueue.resolve(), timeoutMs: 20_000 });
    taking.push(acquired.then(take));
    if (how === 'one by one') await Promise.race([inQueue.promise, acquired]);
  }
  await Promise.all(taking);
  return turns;
}

function ascending(tokens: readonly bigint[]): bigint[] {
  return [...tokens].sort((a, b) => (a < b ? -1 : 1));
}

describe('a queue whose counter has come to its end', () => {
  const FEW_LEFT = 2;
  const bases = Array.from({ length: LOCK_KINDS.length + 4 }, (_, index) => `/worn-${index}`);
  let server: Awaited<ReturnType<typeof startWithSequenceNumbers>>;
  beforeAll(async () => {
    const queues = LOCK_KINDS.flatMap((kind, index) => kind.queues(bases[index] as string));
    const paths = [...new Set([...bases, ...queues])];
    server = await startWithSequenceNumbers(paths, LAST_NUMBER - FEW_LEFT);
  });
  afterAll(() => server.stop());

  const open = (count: number) =>
    Promise.all(Array.from({ length: count }, () => openSession({}, server.connectString)));

  /** Uses up the numbers that are left. */
  async function useUp(session: Session, queue: string): Promise<void> {
    for (let used = 0; used < FEW_LEFT; used++) await session.create(`${queue}/used-${used}`);
  }

  // Since 3.6 a server's counter stays at its end: all newcomers got the number 2147483647, and all were first.
  it.each(LOCK_KINDS)('$name is held by no more than may hold it, in the order of creation', async (kind) => {
    const base = bases[LOCK_KINDS.indexOf(kind)] as string;
    const sessions = await open(8);
    const locks = sessions.map((session) => kind.make(session, base));
    const before = await takeTurns(locks, 'one by one');
    const numbers = before.nodes.map(
      (path) => parseLockEntry(path.slice(path.lastIndexOf('/') + 1))?.sequence,
    );
    expect(numbers.slice(0, 2)).toEqual([LAST_NUMBER - 2, LAST_NUMBER - 1]);
    // The server has run out of numbers.
    expect(new Set(numbers).size < numbers.length || numbers.includes(-(2 ** 31))).toBe(true);
    const after = await takeTurns(locks, 'at once');
    for (const { together, tokens } of [before, after]) {
      expect(together).toHaveLength(8);
      expect(Math.max(...together)).toBeLessThanOrEqual(kind.holders);
      if (kind.holders === 1) expect(tokens).toEqual(ascending(tokens));
    }
    for (const queue of kind.queues(base)) expect(await sessions[0]?.getChildren(queue)).toEqual([]);
  });

  it('a newcomer with the same number as the holder waits for it, and is listed behind it', async () => {
    const path = bases.at(-1) as string;
    const [one, two] = (await open(2)) as [Session, Session];
    await useUp(one, path);
    const [first, second] = [new DistributedLock(one, path), new DistributedLock(two, path)];
    const hold = await first.acquire();
    // So often that the name of some newcomer comes before the holder's in any order of strings.
    for (let round = 0; round < 20; round++) expect(await second.tryAcquire()).toBeUndefined();
    const next = second.acquire();
    const queue = async () => (await first.contenders()).map(({ node }) => `${path}/${node}`);
    await expect.poll(queue).toHaveLength(2);
    expect((await queue())[0]).toBe(hold.path);
    await hold.release();
    await (await next).release();
  });

  it('a newcomer is behind all numbers that were given before, in the order of creation', async () => {
    const path = bases.at(-4) as string;
    const [session, other] = (await open(2)) as [Session, Session];
    await useUp(session, path);
    const numbers = [LAST_NUMBER - 1, LAST_NUMBER, -(2 ** 31), 1 - 2 ** 31, -1];
    const others: string[] = [];
    for (const number of numbers) {
      const digits = number < 0 ? `-${String(-number).padStart(9, '0')}` : String(number).padStart(10, '0');
      const name = `${path}/${entryPrefix(systemEnvironment.uuid())}${digits}`;
      others.push((await session.create(name, { mode: 'ephemeral' })).value);
    }
    const lock = new DistributedLock(other, path);
    const acquired = lock.acquire();
    await expect.poll(() => lock.contenders()).toHaveLength(numbers.length + 1);
    expect((await lock.contenders()).map(({ sequence }) => sequence).slice(0, -1)).toEqual(numbers);
    let held = false;
    void acquired.then(() => {
      held = true;
    });
    for (const other of others) {
      expect(held).toBe(false);
      await session.remove(other);
      await lock.contenders(); // The answer comes after all consequences of the deletion.
    }
    await (await acquired).release();
  });

  it('readers wait for a writer that came before, and not for one that came after', async () => {
    const path = bases.at(-2) as string;
    const sessions = await open(4);
    await useUp(sessions[0] as Session, path);
    type Locks = [ReadWriteLock, ReadWriteLock, ReadWriteLock, ReadWriteLock];
    const [a, b, c, d] = sessions.map((session) => new ReadWriteLock(session, path)) as Locks;
    const [first, beside] = [await a.readLock.acquire(), await b.readLock.acquire()];
    const writer = await enqueue(c.writeLock);
    void writer.hold.then((hold) => hold.release());
    expect(await d.readLock.tryAcquire()).toBeUndefined();
    const late = d.readLock.acquire();
    await Promise.all([first.release(), beside.release()]);
    await (await late).release();
  });

  it('lets candidates lead in the order in which they came', async () => {
    const path = bases.at(-3) as string;
    const sessions = await open(5);
    await useUp(sessions[0] as Session, path);
    const order: number[] = [];
    let leading = 0;
    const allJoined = deferred(); // An elector that has led joins again. It is behind all others only if those have joined.
    const electors = sessions.map((session, index) => {
      const lead = async () => {
        await allJoined.promise;
        expect(++leading).toBe(1);
        order.push(index);
        await session.exists(path);
        leading--;
      };
      return new LeaderElector(session, path, { lead });
    });
    const led = electors.map((elector) => nextEvent(elector, 'demoted'));
    for (const elector of electors) await elector.start();
    allJoined.resolve();
    await Promise.all(led);
    await Promise.all(electors.map((elector) => elector.stop()));
    expect(order.slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('children that are no contenders', () => {
  const ODD_NAMES = [
    '<img onerror=alert(1)>',
    '__proto__',
    'constructor',
    'toString',
    'lock-0000000000',
    '0000000000',
    '-2147483648',
    '__READ__0000000000',
    '__WRIT__0000000000',
    '_c_x-lock-0000000000',
    `_c_${UUID}-lock-`,
    `_c_${UUID}-lock-x`,
    `_c_${UUID}-lock-000000000`,
    `_c_${UUID}-lock-4294967295`,
    `_c_${UUID}-lock--2147483649`,
    `_c_${UUID}-lock-123456789012345678901234567890`,
    `_c_${UUID}-lock-0000000000 `,
    `_c_${UUID}-lock-0000000000\u00a0`,
    ` _c_${UUID}-lock-0000000000`,
    `_c_${UUID}-lock-٠٠٠٠٠٠٠٠٠٠`,
    `_c_${UUID}-__READ__`,
    `_c_${UUID}-LOCK_0000000000`,
    '%2e%2e',
    '...',
    '\u202eback to front',
    '锁-0000000000',
  ];
  // The names that a server accepts have no slash, and only characters.
  const anyName = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the server refuses.
    .filter((name) => !/[/\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]|^\.\.?$/.test(name));

  it.each(LOCK_KINDS)(
    '$name heeds none of them, whatever their names, while it is waited for and held',
    async (kind) => {
      const sessions = await Promise.all([openSession(), openSession(), openSession()]);
      const [session] = sessions;
      const property = fc.asyncProperty(fc.uniqueArray(anyName, { maxLength: 20 }), async (names) => {
        const base = uniquePath('names');
        const odd = [...new Set([...ODD_NAMES, ...names])].filter(
          (name) => parseLockEntry(name) === undefined,
        );
        for (const queue of [base, ...kind.queues(base)]) await session.ensurePath(queue);
        const nodes = kind.queues(base).flatMap((queue) => odd.map((name) => `${queue}/${name}`));
        const half = nodes.length / 2;
        await Promise.all(nodes.slice(0, half).map((node) => session.create(node)));
        const locks = sessions.map((each) => kind.make(each, base));
        const turns = takeTurns(locks, 'one by one');
        await Promise.all(nodes.slice(half).map((node) => session.create(node)));
        const { together, tokens } = await turns;
        expect(together).toHaveLength(3);
        expect(Math.max(...together)).toBeLessThanOrEqual(kind.holders);
        if (kind.holders === 1) expect(tokens).toEqual(ascending(tokens));
        for (const queue of kind.queues(base))
          expect((await session.getChildren(queue)).sort()).toEqual([...odd].sort());
      });
      await fc.assert(property, { numRuns: 3 });
    },
  );
});

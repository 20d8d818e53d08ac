/** Locks with many contenders: over several processes, and with half of them gone at once. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execaNode } from 'execa';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { compareSequences, parseEntry } from '../../src/queue/names-and-order.js';
import type { Session } from '../../src/session/session.js';
import { type Enqueued, enqueue } from '../support/conclave/enqueue.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { CountingServer } from '../support/servers/counting-server.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/waiting.mjs';

const COUNTING = join(import.meta.dirname, '../fixtures/lock-counter.mjs');

function sequenceOf(path: string): number {
  return parseEntry(path.slice(path.lastIndexOf('/') + 1))?.sequence as number;
}

describe('fifty contenders in five processes', () => {
  const [processes, contenders, rounds] = [5, 10, 20];

  it('count a file up without a loss, each in its turn', async () => {
    const file = join(temporaryFolder(), 'holds');
    const path = uniquePath('load');
    await writeFile(file, '');
    const args = [connectString(), path, file, String(contenders), String(rounds)];
    const children = Array.from({ length: processes }, () => execaNode(COUNTING, args, { timeout: 50_000 }));
    onTestFinished(() => children.forEach((child) => void child.kill('SIGKILL')));
    await Promise.all(children);
    const holds = (await readFile(file, 'utf8')).trimEnd().split('\n');
    expect(holds).toHaveLength(processes * contenders * rounds);
    const tokens = holds.map((hold) => BigInt(hold.split(' ')[0] as string));
    expect(tokens.every((token, index) => index === 0 || token > (tokens[index - 1] as bigint))).toBe(true);
    // There was one sequential node for each hold, and no other in between. The nodes held in the order of their creation.
    const numbers = holds.map((hold) => sequenceOf(hold.split(' ')[1] as string));
    expect(numbers).toEqual(
      Array.from({ length: holds.length }, (_, index) => (numbers[0] as number) + index),
    );
    expect(await (await openSession()).getChildren(path)).toEqual([]);
  });
});

describe('when many of two hundred contenders are gone at once', () => {
  const CONTENDERS = 200;
  let server: CountingServer;
  beforeAll(async () => {
    server = await CountingServer.start();
  });
  afterAll(() => server.stop());

  /**
   * Lets all contenders wait behind a holder. Then the sessions of some of them expire, all at once.
   *
   * @returns the number of requests because of that, and the contenders that are left, in their order
   */
  async function expireSome(count: number, isToExpire: (index: number) => boolean) {
    const proxy = await startProxy(server.port);
    const path = uniquePath('load');
    const [holding, ...patient] = (await server.openSessions(1 + CONTENDERS - count)) as [
      Session,
      ...Session[],
    ];
    const doomed = await Promise.all(
      Array.from({ length: count }, () => openSession({ sessionTimeoutMs: 3000 }, proxy.connectString)),
    );
    const holder = await new DistributedLock(holding, path).acquire();
    const survivors: Enqueued[] = [];
    const lost: Promise<unknown>[] = [];
    let [toExpire, toStay] = [0, 0];
    for (let index = 0; index < CONTENDERS; index++) {
      const session = (isToExpire(index) ? doomed[toExpire++] : patient[toStay++]) as Session;
      const waiter = await enqueue(new DistributedLock(session, path));
      if (isToExpire(index)) lost.push(waiter.hold.catch((error: unknown) => error));
      else survivors.push(waiter);
    }
    proxy.cut(); // From here on the server doesn't count requests of these sessions.
    let polls = 0;
    const gone = async () => {
      polls++;
      return (await holding.getChildren(path)).length === 1 + CONTENDERS - count;
    };
    const traffic = await server.during(
      [holding, ...patient],
      () => until(gone, 'the end of the sessions'),
      // A waiter may find that its next predecessor is gone, too, and list again. Ten times are more than enough.
      10,
    );
    for (const session of doomed) void session.close({ timeoutMs: 0 });
    await Promise.all(lost);
    return { holder, survivors, requests: traffic.requests - polls, path, holding };
  }

  const everyOther = (index: number) => index % 2 === 1;
  const everyFourth = (index: number) => index % 4 === 1;
  const blockInTheMiddle = (index: number) => index >= 50 && index < 150;

  it.each([
    ['every fourth', 50, everyFourth],
    ['every other one', 100, everyOther],
    ['half of them, that stand together', 100, blockInTheMiddle],
  ])(
    '(%s) the others are served in order, and ask in proportion to those that are gone',
    async (_, count, isToExpire) => {
      const { holder, survivors, requests, path, holding } = await expireSome(count, isToExpire);
      // Each end of a contender wakes at most one waiter, which lists once and watches one node.
      expect(requests).toBeGreaterThan(0);
      expect(requests).toBeLessThanOrEqual(2 * count);
      expect(survivors.some((waiter) => waiter.held())).toBe(false);
      const numbers = [sequenceOf(holder.path)];
      await holder.release();
      const order: number[] = [];
      const served = survivors.map(async ({ hold }, index) => {
        const held = await hold;
        order.push(index);
        numbers.push(sequenceOf(held.path));
        await held.release();
      });
      await Promise.all(served);
      expect(order).toEqual(survivors.map((__, index) => index));
      expect(numbers).toEqual([...numbers].sort(compareSequences));
      expect(await holding.getChildren(path)).toEqual([]);
    },
  );
});

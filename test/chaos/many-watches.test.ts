import { expect, it, onTestFinished } from 'vitest';
import type { Session } from '../../src/session/session.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { openSession } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { until } from '../support/waiting.mjs';

const WATCHES = 20_000;
const DELETED_DURING_THE_LOSS = 5000;
const PATH_LENGTH = 80;
const PARTS_OF_A_WRITE = 500;
const READS_AT_ONCE = 1000;

const paths = Array.from({ length: WATCHES }, (_, index) => `/${index}-`.padEnd(PATH_LENGTH, 'x'));

function portions<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

/** Creates or deletes all of these nodes. */
async function writeAll(
  session: Session,
  kind: 'create' | 'delete',
  nodes: readonly string[],
): Promise<void> {
  const parts = nodes.map((path) => ({ kind, path }));
  for (const portion of portions(parts, PARTS_OF_A_WRITE)) await session.commit(portion);
}

it('notifies each of 20,000 watches of one session once of its change, also across a lost connection', async () => {
  const zookeeper = await startZooKeeper();
  onTestFinished(zookeeper.stop);
  const proxy = await startProxy(zookeeper.servers[0]?.port);
  const sessionTimeoutMs = 20_000;
  const session = await openSession({ sessionTimeoutMs }, proxy.connectString);
  const other = await openSession({ sessionTimeoutMs }, zookeeper.connectString);
  await writeAll(other, 'create', paths);

  const notified = paths.map(() => 0);
  const countOf = (count: number) => notified.filter((times) => times === count).length;
  for (const portion of portions([...paths.entries()], READS_AT_ONCE)) {
    const reads = portion.map(([index, path]) =>
      session.getData(path, {
        onChange: () => {
          notified[index] = (notified[index] as number) + 1;
        },
      }),
    );
    await Promise.all(reads);
  }

  await eventAfter(session, 'suspended', () => proxy.cut());
  const early = paths.slice(0, DELETED_DURING_THE_LOSS);
  const late = paths.slice(DELETED_DURING_THE_LOSS);
  await writeAll(other, 'delete', early);
  expect(countOf(0)).toBe(WATCHES);
  await eventAfter(session, 'resumed', () => proxy.restore());
  await until(() => countOf(1) === early.length, 'the notifications of what was deleted during the loss');
  expect(notified.slice(early.length).every((times) => times === 0)).toBe(true);

  await writeAll(other, 'delete', late);
  await until(() => countOf(0) === 0, 'the notifications of what was deleted after the loss');
  // The report of a superfluous watch for the next change would come before the answer to a read that follows it.
  await writeAll(other, 'create', paths);
  await writeAll(other, 'delete', paths);
  expect(await session.getChildren('/')).toEqual(['zookeeper']);
  expect(countOf(1)).toBe(WATCHES);
}, 180_000);

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LeaseCell, SharedLease } from '../../../src/lease/shared-lease.js';
import { handleOf } from '../../../src/lease/term-handle.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import type { Actor } from './acting.js';
import { actByHandle } from './acting-by-handle.js';
import { checkHistory } from './checker/check.js';
import { type Entry, type Happening, History, readHistory } from './history.js';
import type { SinkClient } from './sink-client.js';
import type { Question } from './sink-protocol.js';

/** Takes everything. */
function sinkOf(history: History): SinkClient {
  const ask = async (question: Question) => {
    if (question.ask === 'write') history.write({ ...question, kind: 'taken' });
    return { taken: true, length: 0 };
  };
  return { ask } as unknown as SinkClient;
}

const SETTING: Happening = {
  kind: 'setting',
  seed: 1,
  journals: [{ name: 'red', kind: 'election' }],
  sessionTimeoutMs: 5000,
  hasTakeoverDelay: true,
  areThreadsCareless: false,
  recoveryMs: 20_000,
  notAllowed: [],
};

/** A thread acts by a handle, and nothing extends the lease. The next leader begins when the cell says that the lease is over. */
async function historyOf(isCareless: boolean): Promise<Entry[]> {
  const path = join(temporaryFolder(), 'history.jsonl');
  const history = new History(path);
  history.write(SETTING);
  const lease = new SharedLease();
  lease.lasts(100);
  lease.provedAgo(() => 0);
  const cell = new LeaseCell(lease);
  let [acts, hasEnded, isFollowed] = [0, false, false];
  const actor: Actor = {
    ...{ who: 'a', journal: 'red', history, sink: sinkOf(history), hand: 'thread' },
    onAct: () => {
      acts++;
      hasEnded = isFollowed; // The main thread says it only when another one has acted.
      if (cell.isHeld()) return;
      const next = { who: 'b', journal: 'red', hand: 'main', token: '11' } as const;
      history.write({ kind: 'held', ...next, until: Number(process.hrtime.bigint() / 1000n) });
      isFollowed = true;
    },
    nextWrite: () => `a-${acts}`,
  };
  const handle = handleOf(cell, { number: 1, token: 10n });
  await actByHandle(actor, handle, 1, isCareless ? () => hasEnded : undefined);
  history.write({ kind: 'over' });
  expect(acts).toBeGreaterThan(1);
  return [...readHistory(path)];
}

it('a thread that asks the handle before it acts is beside no other leader', async () => {
  const entries = await historyOf(false);
  expect(checkHistory(entries).violations).toEqual([]);
  expect(entries.filter(({ kind }) => kind === 'not held').length).toBeGreaterThan(1);
});

it('a thread that waits for the main thread, and does not ask, is found beside the next leader', async () => {
  const found = checkHistory(await historyOf(true)).violations.map(({ kind }) => kind);
  expect(found).toEqual(['two leaders at once']);
});

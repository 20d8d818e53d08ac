import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { hashOf } from '../../src/dashboard/page/model/address-hash.js';
import { useChromium } from './support/chromium.js';
import { FakeDashboard } from './support/fake-dashboard.js';
import { crowd } from './support/scenes.js';
import { electionOf, ROOT } from './support/views.js';

const open = useChromium();
/** The largest work that one frame may take, as a share of the work of drawing the whole page anew. */
const LARGEST_SHARE = 0.5;
const ROUNDS = 20;
const ROUND_MS = 100;

/** The fields of the events of Chromium's trace that this test reads. */
interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly ts: number;
  readonly dur?: number;
  readonly pid: number;
  readonly tid: number;
  readonly args: {
    /** In `UpdateLayoutTree`: the number of elements to which the browser gave new styles. */
    readonly elementCount?: number;
    /** In `Layout`: the number of objects that the browser had to lay out. */
    readonly beginData?: { readonly dirtyObjects: number };
  };
}

/** The work of the browser for one task of the page's main thread. */
interface Work {
  readonly restyled: number;
  readonly laidOut: number;
}

/**
 * The largest work of one task while a step runs. The browser counts the work, so the counts don't depend on how fast the machine
 * is. A slow or busy machine only puts more changes into one frame.
 */
async function largestWork(page: Page, step: () => Promise<unknown>): Promise<Work> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  const includedCategories = ['devtools.timeline', 'disabled-by-default-devtools.timeline'];
  await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories } });
  await step();
  // The trace lacks tasks that haven't ended, so wait for the end of the frame that shows the change.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  await session.send('Tracing.end');
  await complete;
  const works = events
    .filter(({ name, ph }) => name === 'RunTask' && ph === 'X')
    .map(({ pid, tid, ts, dur = 0 }) => {
      const inTask = events.filter(
        (event) => event.pid === pid && event.tid === tid && event.ts >= ts && event.ts < ts + dur,
      );
      return {
        restyled: sumOf(inTask.map(({ args }) => args.elementCount ?? 0)),
        laidOut: sumOf(inTask.map(({ args }) => args.beginData?.dirtyObjects ?? 0)),
      };
    });
  return {
    restyled: Math.max(...works.map(({ restyled }) => restyled)),
    laidOut: Math.max(...works.map(({ laidOut }) => laidOut)),
  };
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);

const drawAnew = (page: Page) =>
  page.evaluate(() => {
    const main = document.querySelector('main');
    main?.replaceWith(main.cloneNode(true));
  });

/** The work of the largest task of a step, as a share of the work of drawing the page anew. The page doesn't work any more after that. */
async function sharesOf(page: Page, step: () => Promise<unknown>): Promise<Work> {
  const work = await largestWork(page, step);
  const whole = await largestWork(page, () => drawAnew(page));
  return { restyled: work.restyled / whole.restyled, laidOut: work.laidOut / whole.laidOut };
}

/** Sends all kinds of changes: all leaders send heartbeats, some elections get another leader, some shards move. */
async function change(dashboard: FakeDashboard, round: number): Promise<void> {
  const { elections, groups } = dashboard.state;
  const now = Date.now();
  const ledAnew = [0, 1, 2, 3, 4].map((offset) => {
    const name = `service-${String((round * 5 + offset) % elections.length).padStart(3, '0')}`;
    const ids = Array.from({ length: 20 }, (_, worker) => `${name}-worker-${(worker + 1) % 20}`);
    return electionOf(name, { now, ids, begun: [{ agoMs: 60_000 }, { agoMs: 1_000, gapMs: 150 }] });
  });
  const moved = Array.from({ length: 40 }, (_, index) => (round * 97 + index * 101) % 4_096);
  dashboard.send({
    heartbeats: elections.map(({ path }) => ({ path, at: now })),
    elections: ledAnew,
    groups: [
      {
        path: groups[0]?.path ?? '',
        state: 'owned',
        owned: moved.map((shard) => [shard, (shard + round) % 50] as const),
        moves: moved.map((shard) => ({ at: now, shard: String(shard), from: 'member-1', to: 'member-2' })),
      },
    ],
    transitions: ledAnew.map(({ path, leader }) => ({
      at: now,
      path,
      kind: 'elected' as const,
      id: leader?.id ?? null,
      term: 41,
    })),
  });
  await delay(ROUND_MS);
}

async function crowded(hash = ''): Promise<{ dashboard: FakeDashboard; page: Page }> {
  const dashboard = await FakeDashboard.start(crowd());
  const page = await open(dashboard.url + hash);
  await expect.poll(() => page.locator('.card').count()).toBe(301);
  return { dashboard, page };
}

function expectSmall({ restyled, laidOut }: Work): void {
  expect(restyled).toBeGreaterThan(0);
  expect(restyled).toBeLessThan(LARGEST_SHARE);
  expect(laidOut).toBeGreaterThan(0);
  expect(laidOut).toBeLessThan(LARGEST_SHARE);
}

describe('300 elections with 20 candidates each and 4,096 shards', () => {
  it('are measured by counts that see a page that is drawn anew', async () => {
    const { page } = await crowded();
    const { restyled, laidOut } = await sharesOf(page, () => drawAnew(page));
    expect(Math.min(restyled, laidOut)).toBeGreaterThan(LARGEST_SHARE);
  });

  it.each([
    ['in the overview', ''],
    [
      'beside an open election',
      hashOf({ open: { kind: 'election', path: `${ROOT}/service-003` }, query: '' }),
    ],
    ['beside an open group', hashOf({ open: { kind: 'group', path: `${ROOT}/shards` }, query: '' })],
  ])('that change all the time are drawn anew only where they change, %s', async (_, hash) => {
    const { dashboard, page } = await crowded(hash);
    const shares = await sharesOf(page, async () => {
      for (let round = 0; round < ROUNDS; round += 1) await change(dashboard, round);
    });
    expectSmall(shares);
  });

  it('are searched without drawing the page anew', async () => {
    const { page } = await crowded();
    const found = (count: number) =>
      expect.poll(() => page.locator('.place:not([hidden])').count()).toBe(count);
    const search = page.getByRole('searchbox');
    const shares = await sharesOf(page, async () => {
      await search.pressSequentially('service-12 worker', { delay: 30 });
      await found(10);
      await search.fill('');
      await found(301);
    });
    expectSmall(shares);
  });
});

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { DashboardState } from '../../src/dashboard/api-types.js';
import { hashOf, type Kind } from '../../src/dashboard/page/model/address-hash.js';
import { useChromium } from './support/chromium.js';
import { FakeDashboard } from './support/fake-dashboard.js';
import { afternoon } from './support/scenes.js';
import { ROOT } from './support/views.js';

const FOLDER = join(import.meta.dirname, '../../docs/operations/images');
/** Whether this test writes the pictures of the documentation, as `npm run docs:pictures` makes it do. */
const writes = process.env.CONCLAVE_PICTURES === '1';
const SIZE = { width: 1400, height: 760 };

const open = useChromium();

interface Picture {
  readonly name: string;
  readonly scene: () => DashboardState;
  readonly colorScheme: 'light' | 'dark';
  readonly shows?: readonly [kind: Kind, name: string];
}

const PICTURES: readonly Picture[] = [
  { name: 'overview-light', scene: afternoon, colorScheme: 'light' },
  { name: 'overview-dark', scene: afternoon, colorScheme: 'dark' },
  { name: 'no-leader-dark', scene: () => afternoon({ alarm: true }), colorScheme: 'dark' },
  {
    name: 'election-light',
    scene: afternoon,
    colorScheme: 'light',
    shows: ['election', 'payments/settlement'],
  },
  { name: 'shards-dark', scene: afternoon, colorScheme: 'dark', shows: ['group', 'events/partitions'] },
];

/** Sends a heartbeat of each leader, each at another time, so that their leases are at different stages. */
function beat(dashboard: FakeDashboard): void {
  const now = Date.now();
  const heartbeats = dashboard.state.elections.flatMap(({ path, leader }, index) =>
    leader === null ? [] : [{ path, at: now - ((index * 7) % 10) * 50 }],
  );
  dashboard.send({ heartbeats });
}

async function isDrawn(page: Page, dashboard: FakeDashboard): Promise<void> {
  const { elections, groups, locks } = dashboard.state;
  await expect
    .poll(() => page.locator('.card').count())
    .toBe(elections.length + groups.length + locks.length);
  await page.evaluate(() => document.fonts.ready);
}

describe('the pictures of the documentation', () => {
  it.each(PICTURES)('show $name', async ({ name, scene, colorScheme, shows }) => {
    const dashboard = await FakeDashboard.start(scene());
    const hash = shows && hashOf({ open: { kind: shows[0], path: `${ROOT}/${shows[1]}` }, query: '' });
    const page = await open(dashboard.url + (hash ?? ''), { colorScheme, viewport: SIZE });
    await isDrawn(page, dashboard);
    if (shows !== undefined) await page.getByRole('complementary').waitFor();
    beat(dashboard);
    const restOf = () =>
      page.evaluate(() => Number(document.querySelector('.lease-rest')?.getAnimations()[0]?.currentTime));
    await expect.poll(restOf).toBeLessThan(2_000);
    if (!writes) return;
    mkdirSync(FOLDER, { recursive: true });
    await page.screenshot({ path: join(FOLDER, `${name}.png`) });
  });
});

import axe from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { DashboardState } from '../../src/dashboard/api-types.js';
import { hashOf, type Route } from '../../src/dashboard/page/model/address-hash.js';
import { pageCsp, pageHtml } from '../../src/dashboard/page-html.js';
import { deferred } from '../../src/platform/async/promises.js';
import { useChromium } from './support/chromium.js';
import { FakeDashboard } from './support/fake-dashboard.js';
import { afternoon } from './support/scenes.js';
import { electionOf, groupOf, lockOf, ROOT, stateOf } from './support/views.js';

const open = useChromium();

/** Opens the page of a dashboard that has only these parts. */
async function show(
  parts: Partial<DashboardState> = {},
  hash = '',
  options: BrowserContextOptions & { expected?: RegExp } = {},
) {
  const dashboard = await FakeDashboard.start(stateOf(parts));
  return { dashboard, page: await open(dashboard.url + hash, options) };
}

const opening = (kind: 'election' | 'group' | 'lock', name: string): string =>
  hashOf({ open: { kind, path: `${ROOT}/${name}` }, query: '' } satisfies Route);
const card = (page: Page, name: string) =>
  page.locator('.card', { has: page.getByRole('link', { name, exact: true }) });
const iconOf = (page: Page) => page.locator('link[rel=icon]').getAttribute('href');

/** The findings of axe-core that are serious or critical. */
async function seriousFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ['violations'] }),
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

it('the document is below 100 kB, names nothing to load, and allows only its own script and style', () => {
  expect(Buffer.byteLength(pageHtml)).toBeLessThan(100_000);
  expect(pageHtml).not.toMatch(/\b(?:src|href)="(?!data:)[^"]/);
  expect(pageHtml).not.toMatch(/@import|url\(/);
  expect(pageCsp).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';/);
  expect(pageCsp).not.toContain('unsafe');
  expect(pageHtml).toContain('Permission is hereby granted');
});

describe('an election', () => {
  it('is shown with its leader, term, how long it leads, and who is next and why', async () => {
    const { page } = await show({ elections: [electionOf('billing')] });
    const billing = card(page, 'billing');
    await expect.poll(() => billing.locator('.leader').textContent()).toBe('worker-1');
    await expect.poll(() => billing.locator('.facts').textContent()).toBe('term 40for 1 h 35 min');
    expect(await billing.locator('.next').textContent()).toMatch(/next worker-2\s*by queue\s*2 waiting/);
    expect(await page.title()).toBe('1 election · all led – Conclave');
  });

  it('without a leader is an alarm in the header, the title and the icon, and comes first', async () => {
    const elections = [electionOf('billing'), electionOf('mail')];
    const { dashboard, page } = await show({ elections });
    await expect.poll(() => page.locator('.card').count()).toBe(2);
    const calm = await iconOf(page);
    dashboard.send({ elections: [electionOf('mail', { state: 'vacant' })] });
    await expect.poll(() => page.title()).toBe('✕ no leader – mail');
    await expect.poll(() => page.locator('header h1').textContent()).toBe('✕no leader – mail');
    expect(await page.locator('header.top').getAttribute('data-tone')).toBe('alarm');
    expect(await iconOf(page)).not.toBe(calm);
    expect(await page.locator('.card h3').first().textContent()).toBe('mail');
    expect(await card(page, 'mail').locator('.leader').textContent()).toBe('no leader');
    dashboard.send({ elections: [electionOf('mail')] });
    await expect.poll(() => page.title()).toBe('2 elections · all led – Conclave');
    expect(await iconOf(page)).toBe(calm);
  });

  it('has its terms as a timeline with gaps, and as a table with the reason of each end', async () => {
    const begun = [
      { agoMs: 600_000, end: 'taken-over' as const },
      { agoMs: 300_000, gapMs: 2_140 },
    ];
    const elections = [electionOf('billing', { begun })];
    const { page } = await show({ elections }, opening('election', 'billing'));
    await expect.poll(() => page.locator('.panel .hole').getAttribute('title')).toBe('no leader for 2.1 s');
    const rows = page.locator('.panel tbody tr');
    expect(await rows.count()).toBe(2);
    expect(await rows.nth(0).textContent()).toMatch(/^41worker-1.*lasts2\.1 s$/);
    expect(await rows.nth(1).textContent()).toContain(
      'taken over: the leader was silent for longer than its lease',
    );
    await page.getByText('15 min', { exact: true }).click();
    await expect.poll(() => page.locator('.panel .hole').count()).toBe(1);
  });

  it('shows the rest of the lease as a bar that shrinks, and each heartbeat fills it', async () => {
    const view = electionOf('billing', { leaseMs: 60_000 });
    const { dashboard, page } = await show({ elections: [view] });
    const elapsed = () =>
      page.evaluate(() => Number(document.querySelector('.lease-rest')?.getAnimations()[0]?.currentTime));
    await expect.poll(elapsed).toBeGreaterThanOrEqual(0);
    const heartbeat = (ageMs: number) =>
      dashboard.send({ heartbeats: [{ path: view.path, at: Date.now() - ageMs }] });
    heartbeat(0);
    heartbeat(50_000);
    await expect.poll(elapsed).toBeGreaterThan(49_000);
    heartbeat(0);
    await expect.poll(elapsed).toBeLessThan(40_000);
    dashboard.send({ connected: false, disconnectedSince: Date.now() });
    const isRunning = () =>
      page.evaluate(() => document.querySelector('.lease-rest')?.getAnimations()[0]?.playState);
    await expect.poll(isRunning).toBe('paused');
    expect(await page.getByRole('alert').textContent()).toContain('showing the state of');
  });

  it('has a queue whose rows move when it moves', async () => {
    const before = electionOf('billing', { ids: ['a', 'b', 'c'] });
    const { dashboard, page } = await show({ elections: [before] }, opening('election', 'billing'));
    const names = () => page.locator('.queue .candidate-id').allTextContents();
    await expect.poll(names).toEqual(['a', 'b', 'c']);
    await page.evaluate(() => {
      const animate = Element.prototype.animate;
      Element.prototype.animate = function (...args) {
        if (this instanceof HTMLLIElement) document.body.dataset.moved = 'yes';
        return animate.apply(this, args);
      };
    });
    const [, ...rest] = before.candidates;
    const candidates = rest.map((each, position) => ({ ...each, position, leads: position === 0 }));
    dashboard.send({ elections: [{ ...electionOf('billing', { ids: ['b', 'c'] }), candidates }] });
    await expect.poll(names).toEqual(['b', 'c']);
    expect(await page.locator('body').getAttribute('data-moved')).toBe('yes');
  });
});

describe('groups and locks', () => {
  it('show each shard in the color of its owner, and a move as soon as it is known', async () => {
    const group = groupOf('shards', 12, ['m1', 'm2', 'm3']);
    const { dashboard, page } = await show({ groups: [group] }, opening('group', 'shards'));
    const counts = () => page.locator('.members .count').allTextContents();
    await expect.poll(counts).toEqual(['4', '4', '4']);
    const canvas = page.getByRole('slider');
    await canvas.focus();
    await page.keyboard.press('ArrowRight');
    expect(await page.locator('.shard-details').textContent()).toBe('shard 1: m1');
    const colorOf = (shard: number) =>
      canvas.evaluate((element, at) => {
        const context = (element as HTMLCanvasElement).getContext('2d');
        return [...(context?.getImageData(at * 30 + 8, 8, 1, 1).data ?? [])].join();
      }, shard);
    const [first, last] = [await colorOf(0), await colorOf(11)];
    expect(first).not.toBe(last);
    dashboard.send({
      groups: [
        {
          path: group.path,
          state: 'owned',
          owned: [[0, 2]],
          moves: [{ at: Date.now(), shard: '0', from: 'm1', to: 'm3' }],
        },
      ],
    });
    await expect.poll(counts).toEqual(['3', '4', '5']);
    await expect.poll(() => colorOf(0)).toBe(last);
    expect(await page.locator('.panel .transitions').textContent()).toContain('0 m1 → m3');
    dashboard.send({ groups: [{ path: group.path, state: 'incomplete', owned: [[5, -1]], moves: [] }] });
    await expect
      .poll(() => page.locator('.panel .state').textContent())
      .toContain('1 shard without an owner');
  });

  it('show who holds a lock and who waits', async () => {
    const { page } = await show({ locks: [lockOf('nightly', ['first', 'second'])] });
    await expect.poll(() => card(page, 'nightly').locator('.holder').textContent()).toMatch(/^first\d+ s$/);
    expect(await card(page, 'nightly').locator('.next').textContent()).toBe('1 waiting');
  });
});

describe('text from outside', () => {
  const hostile = [
    '<img src=x onerror="document.body.dataset.hacked=1">',
    '</script><script>document.body.dataset.hacked=1</script>',
    'a'.repeat(4_096),
    '\u202egnp.exe',
    'مدير-الدفع',
    'line\nbreak\0',
    '__proto__',
    '',
  ];

  it('is shown and not run, at any length and in any direction', async () => {
    const elections = hostile.map((text, index) =>
      electionOf(`${index} ${text.slice(0, 60)}`, { ids: [text, `${text}2`], data: text.slice(0, 200) }),
    );
    elections.push(electionOf(hostile[2] as string));
    const group = groupOf('group <b>', 3, hostile);
    const shards = ['<i>', '\u202e1', '2'];
    const reason = hostile[0] as string;
    const state = {
      elections,
      groups: [{ ...group, shards, pins: [{ shard: '<i>', member: reason }] }],
      locks: [lockOf(reason, hostile)],
      servers: [{ address: reason, role: 'unknown', isOurs: true, version: reason }],
      transitions: [{ at: Date.now(), path: `${ROOT}/${reason}`, kind: 'joined', id: reason, reason }],
    } satisfies Partial<DashboardState>;
    const { page } = await show(state);
    await expect.poll(() => page.locator('.card').count()).toBe(11);
    for (const { path } of [...elections, ...state.groups, ...state.locks]) {
      const kind = path.includes('group') ? 'group' : state.locks[0]?.path === path ? 'lock' : 'election';
      await page.evaluate(
        (hash) => {
          location.hash = hash;
        },
        hashOf({ open: { kind, path }, query: '' }),
      );
      await expect.poll(() => page.locator('.panel h2').textContent()).not.toBe('');
    }
    expect(await page.locator('[data-hacked]').count()).toBe(0);
    expect(await page.locator('img, i, b, #page script').count()).toBe(0);
    expect(await page.getByText(hostile[0] as string, { exact: true }).count()).toBeGreaterThan(0);
    expect(await page.getByText('[U+202E]gnp.exe').count()).toBeGreaterThan(0);
    expect(await page.getByText('line␊break␀').count()).toBeGreaterThan(0);
    expect(await page.locator('bdi:not([dir=auto])').count()).toBe(0);
    const arabic = page.locator('.card .leader bdi', { hasText: 'مدير' }).first();
    expect(await arabic.evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
    // No content is wider than the window, however long its text is.
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
  });
});

describe('the reader', () => {
  it('finds by the search what a path, a leader or a candidate has in its name', async () => {
    const elections = [
      electionOf('billing', { ids: ['node-a', 'node-b'] }),
      electionOf('mail', { ids: ['node-c'] }),
    ];
    const { page } = await show({ elections, locks: [lockOf('nightly', ['node-b'])] });
    const seen = () => page.locator('.place:visible h3').allTextContents();
    await expect.poll(seen).toEqual(['billing', 'mail', 'nightly']);
    await page.keyboard.press('/');
    await page.keyboard.type('NODE-b');
    await expect.poll(seen).toEqual(['billing', 'nightly']);
    await page.reload();
    await expect.poll(seen).toEqual(['billing', 'nightly']);
    await page.getByRole('searchbox').fill('');
    await expect.poll(seen).toEqual(['billing', 'mail', 'nightly']);
  });

  it('needs no mouse: Tab goes to a card, Enter opens it, Escape closes it and goes back', async () => {
    const { page } = await show({ elections: [electionOf('billing')] });
    await expect.poll(() => page.locator('.card').count()).toBe(1);
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    for (let press = 0; press < 10 && (await focused()) !== 'billing'; press += 1)
      await page.keyboard.press('Tab');
    expect(await focused()).toBe('billing');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('complementary').count()).toBe(1);
    await expect.poll(focused).toBe('billing');
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H2');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('complementary').count()).toBe(0);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('A');
  });

  it('chooses light or dark, which is remembered, or leaves it to the system', async () => {
    const { page } = await show({}, '', { colorScheme: 'dark' });
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const toggle = page.getByRole('button', { name: /Colors/ });
    await expect.poll(ground).toBe('rgb(12, 15, 20)');
    await page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(ground).toBe('rgb(243, 244, 247)');
    await toggle.click();
    await toggle.click();
    await expect.poll(ground).toBe('rgb(12, 15, 20)');
    await page.reload();
    await expect.poll(() => toggle.textContent()).toContain('dark');
    expect(await ground()).toBe('rgb(12, 15, 20)');
  });

  it('finds a page that works where the browser refuses storage', async () => {
    const dashboard = await FakeDashboard.start(stateOf({ elections: [electionOf('billing')] }));
    const page = await open('about:blank');
    await page.addInitScript(() => {
      Object.defineProperty(globalThis, 'localStorage', {
        get() {
          throw new Error('refused');
        },
      });
    });
    await page.goto(dashboard.url);
    await expect.poll(() => page.locator('.card').count()).toBe(1);
    await page.getByRole('button', { name: /Colors/ }).click();
    await expect.poll(() => page.locator('html').getAttribute('data-scheme')).toBe('light');
  });

  it.each(['light', 'dark'] as const)('has no serious findings of axe-core in %s', async (colorScheme) => {
    const { dashboard, page } = await show({ ...afternoon({ alarm: true }), mayAct: true }, '', {
      colorScheme,
    });
    await expect.poll(() => page.locator('.card').count()).toBe(15);
    expect(await seriousFindings(page)).toEqual([]);
    for (const hash of [
      opening('election', 'payments/settlement'),
      opening('election', 'orders/reconciler'),
      opening('group', 'events/partitions'),
      opening('lock', 'migrations'),
    ]) {
      await page.goto(dashboard.url + hash);
      await expect.poll(() => page.getByRole('complementary').count()).toBe(1);
      expect(await seriousFindings(page)).toEqual([]);
    }
    await page.goto(dashboard.url + opening('election', 'payments/settlement'));
    await page.getByRole('button', { name: 'Resign…' }).click();
    await page.getByRole('dialog').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });
});

describe('an action', () => {
  it('is not offered to those who may only read', async () => {
    const { page } = await show({ elections: [electionOf('billing')] }, opening('election', 'billing'));
    await page.getByRole('complementary').waitFor();
    expect(await page.getByRole('complementary').getByRole('button').count()).toBe(0);
  });

  it('is sent after it was confirmed, with what the visitor has chosen', async () => {
    const election = electionOf('a/b c');
    const groups = [groupOf('shards', 4, ['m1', 'm2'])];
    const state = stateOf({ elections: [election], groups, mayAct: true });
    const dashboard = await FakeDashboard.start(state, '/admin');
    const page = await open(dashboard.url + opening('election', 'a/b c'));
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Resign…' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => dialog.count()).toBe(0);
    expect(dashboard.posts).toEqual([]);
    await page.getByRole('button', { name: 'Resign…' }).click();
    await dialog.getByRole('spinbutton').fill('1.5');
    await dialog.getByRole('button', { name: 'Resign' }).click();
    await expect.poll(() => dialog.count()).toBe(0);
    await page.getByRole('button', { name: 'Hand over…' }).first().click();
    await dialog.getByRole('button', { name: 'Hand over' }).click();
    await expect.poll(() => dialog.count()).toBe(0);
    await page.goto(dashboard.url + opening('group', 'shards'));
    await page.getByRole('slider').press('ArrowRight');
    await page.getByRole('combobox').selectOption('m2');
    await page.getByRole('button', { name: 'Pin…' }).click();
    await dialog.getByRole('button', { name: 'Pin' }).click();
    await expect.poll(() => dialog.count()).toBe(0);
    const path = `api/elections/${encodeURIComponent(`${ROOT}/a/b c`)}`;
    const { leader, candidates } = election;
    expect(dashboard.posts).toEqual([
      { path: `${path}/resign`, body: { leader: leader?.node, graceMs: 1_500 } },
      { path: `${path}/hand-over`, body: { leader: leader?.node, to: candidates[1]?.node } },
      { path: `api/groups/${encodeURIComponent(`${ROOT}/shards`)}/pin`, body: { shard: '1', member: 'm2' } },
    ]);
  });

  it('that is answered after its dialog was cancelled closed the dialog of the next one', async () => {
    const parts = { elections: [electionOf('billing')], mayAct: true };
    const { page } = await show(parts, opening('election', 'billing'));
    const held = deferred<() => void>();
    await page.route('**/resign', (route) => held.resolve(() => void route.continue()));
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Resign…' }).click();
    await dialog.getByRole('button', { name: 'Resign' }).click();
    const answer = await held.promise;
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Hand over…' }).first().click();
    const answered = page.waitForEvent('requestfinished');
    answer();
    await answered;
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve))); // The page has handled the answer, and drawn.
    expect(await dialog.getByRole('heading').textContent()).toBe('Hand over?');
  });

  it('that is refused says why, as text', async () => {
    const parts = { elections: [electionOf('billing')], mayAct: true };
    const { dashboard, page } = await show(parts, opening('election', 'billing'), { expected: /409/ });
    dashboard.answer = {
      status: 409,
      body: { error: { code: 'NOT_LEADER', message: '<b>it leads no more</b>' } },
    };
    await page.getByRole('button', { name: 'Revoke…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await expect.poll(() => page.getByRole('alert').textContent()).toBe('<b>it leads no more</b>');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });
});

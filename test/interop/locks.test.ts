import { describe, expect, it, onTestFinished } from 'vitest';
import { openSession } from '../support/conclave/sessions.js';
import { until } from '../support/waiting.mjs';
import {
  AS_THEY_COME,
  everyPair,
  type Kind,
  numberOf,
  Queue,
  type Setup,
  serve,
  shareForeignClients,
  startForeignClient,
  type Turn,
} from './support/shared-queue.js';

const NAMED_AS_CURATORS: Setup = { ...AS_THEY_COME, kazoo: 'curator' };
const WITH_KAZOO: Setup = { ours: { extraLockPatterns: ['__lock__'] }, Curator: 'standard', kazoo: 'both' };
const ANY_NAMES: Setup = { ...WITH_KAZOO, Curator: 'any' };

const SHORT_SESSION_MS = 3000;

shareForeignClients('Curator', 'kazoo');

describe.each<[company: string, kinds: readonly Kind[], setup: Setup]>([
  ['ours and Curator, as they come', ['ours', 'Curator'], AS_THEY_COME],
  ['ours and kazoo, each with the names of the other', ['ours', 'kazoo'], WITH_KAZOO],
  ["ours, Curator, and kazoo with Curator's names", ['ours', 'Curator', 'kazoo'], NAMED_AS_CURATORS],
  ['ours, kazoo with its own names, and Curator taught them', ['ours', 'Curator', 'kazoo'], ANY_NAMES],
])('a queue of %s', (_company, kinds, setup) => {
  it('serves in the order of joining, whatever the kinds of two neighbours, and one at a time', async () => {
    const queue = new Queue(await openSession(), setup);
    const turns: Turn[] = [];
    for (const kind of everyPair(kinds)) turns.push(await queue.join(kind));
    const joined = turns.map(({ node }) => node);
    expect(await queue.nodes()).toEqual(joined);
    expect(await serve(turns)).toEqual(joined);
    expect(await queue.nodes()).toEqual([]);
  });

  it('serves in the order of the numbers while all come and go', async () => {
    const queue = new Queue(await openSession(), setup);
    const idle = [...kinds, ...kinds, ...kinds].map((kind) => ({ kind, contender: queue.contender(kind) }));
    const served: string[] = [];
    const pairs = new Set<string>();
    let last: Kind | undefined;
    const lane = async () => {
      // It goes on until each kind of client has followed each kind. Only the queue decides when that is.
      while (served.length < 30 * kinds.length || pairs.size < kinds.length ** 2) {
        const [next] = idle.splice(Math.floor(Math.random() * idle.length), 1);
        if (next === undefined) throw new Error('there are fewer contenders than lanes');
        served.push((await next.contender.acquire()) ?? 'timeout');
        if (last !== undefined) pairs.add(`${next.kind} behind ${last}`);
        last = next.kind;
        await next.contender.release();
        idle.push(next);
      }
    };
    await Promise.all(Array.from({ length: 2 * kinds.length }, lane));
    expect(served.map(numberOf)).toEqual(served.map((_, index) => index));
    expect(await queue.nodes()).toEqual([]);
  });
});

describe('a queue that Conclave shares with Curator and kazoo', () => {
  it.each(['Curator', 'kazoo'] as const)(
    'goes on when the session of a killed process of %s has expired',
    async (kind) => {
      const [session, victim] = await Promise.all([
        openSession(),
        startForeignClient(kind, SHORT_SESSION_MS),
      ]);
      onTestFinished(() => victim.kill());
      const led = new Queue(session, NAMED_AS_CURATORS);
      const waited = new Queue(session, NAMED_AS_CURATORS);
      const holder = await led.join(kind, { client: victim });
      const heirs = [await led.join('ours'), await led.join('kazoo'), await led.join('Curator')];
      const first = await waited.join('ours');
      const waiter = await waited.join(kind, { client: victim });
      const last = await waited.join('ours');
      await Promise.all([holder.held, first.held]);
      await victim.kill();
      await expect(waiter.held).rejects.toThrow('the process ended (SIGKILL)');
      expect(await led.nodes()).toContain(holder.node);
      led.clearGuard();
      expect(await serve(heirs)).toEqual(heirs.map(({ node }) => node));
      // With the killed process, its place in the middle of the other queue is gone. No contender has held too early because of that.
      await until(async () => !(await waited.nodes()).includes(waiter.node), 'the end of the waiter');
      expect(await serve([first, last])).toEqual([first.node, last.node]);
    },
  );

  it.each<[kind: Kind, behind: Kind]>([
    ['ours', 'Curator'],
    ['ours', 'kazoo'],
    ['Curator', 'ours'],
    ['kazoo', 'ours'],
  ])('passes on when %s gave up between the holder and %s', async (kind, behind) => {
    const queue = new Queue(await openSession(), NAMED_AS_CURATORS);
    const holder = await queue.join('Curator');
    const impatient = await queue.join(kind, { timeoutMs: 300 });
    const successor = await queue.join(behind);
    expect(await impatient.held).toBeUndefined();
    expect(await queue.nodes()).toEqual([holder.node, successor.node]);
    expect(await serve([holder, successor])).toEqual([holder.node, successor.node]);
    expect(await queue.nodes()).toEqual([]);
  });

  it.each<[naming: string, setup: Setup]>([
    ['with the names of Curator', NAMED_AS_CURATORS],
    ['with names of their own', ANY_NAMES],
  ])('is listed alike by all of them, %s', async (_naming, setup) => {
    const session = await openSession();
    const queue = new Queue(session, setup);
    const turns: Turn[] = [];
    for (const kind of everyPair<Kind>(['Curator', 'ours', 'kazoo'])) turns.push(await queue.join(kind));
    const joined = turns.map(({ node }) => node);
    // kazoo lists the data of the nodes.
    await Promise.all(joined.map((node) => session.setData(`${queue.path}/${node}`, Buffer.from(node))));
    expect(await queue.listedBy('ours')).toEqual(joined);
    expect(await queue.listedBy('Curator')).toEqual(joined);
    expect(await queue.listedBy('kazoo')).toEqual(joined);
    expect(await serve(turns)).toEqual(joined);
  });
});

describe('a path on which clients disagree on which nodes are contenders', () => {
  it.each<[first: Kind, second: Kind, why: string, setup: Setup]>([
    ['kazoo', 'ours', 'which was not given extraLockPatterns', { ...WITH_KAZOO, ours: {} }],
    ['kazoo', 'Curator', 'which reads no names but its own', WITH_KAZOO],
    ['ours', 'kazoo', 'which was not given extra_lock_patterns', AS_THEY_COME],
    ['Curator', 'kazoo', 'which was not given extra_lock_patterns', AS_THEY_COME],
  ])('is held by %s and at the same time by %s, %s', async (first, second, _why, setup) => {
    const queue = new Queue(await openSession(), setup, { guarded: false });
    const one = await queue.join(first);
    await one.held;
    const two = await queue.join(second);
    await two.held;
    expect(await queue.nodes()).toEqual([one.node, two.node]);
    await Promise.all([one.release(), two.release()]);
  });
});

describe('a lock of kazoo that is not ephemeral', () => {
  it('is waited for by a lock of Conclave that counts the names of kazoo', async () => {
    const queue = new Queue(await openSession(), WITH_KAZOO);
    const kazoo = await queue.join('kazoo', { persistent: true });
    await kazoo.held;
    const ours = await queue.join('ours');
    expect(await queue.lock('lock').tryAcquire()).toBeUndefined();
    expect(await serve([kazoo, ours])).toEqual([kazoo.node, ours.node]);
  });

  it('is not waited for under a name as Curator gives it: both hold', async () => {
    const queue = new Queue(await openSession(), NAMED_AS_CURATORS, { guarded: false });
    const kazoo = await queue.join('kazoo', { persistent: true });
    await kazoo.held;
    const ours = await queue.join('ours');
    expect(await ours.held).toBe(ours.node);
    expect(await queue.nodes()).toEqual([kazoo.node, ours.node]);
    await Promise.all([kazoo.release(), ours.release()]);
  });
});

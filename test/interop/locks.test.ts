import { randomUUID } from 'node:crypto';
import { closeSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findCurator, findKazoo } from '../../scripts/peers.mjs';
import { LockTimeoutError, NoNodeError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { LockOptions } from '../../src/lock/lock.js';
import type { LockHold } from '../../src/lock/lock-hold.js';
import { compareSequences } from '../../src/lock/order.js';
import type { Session } from '../../src/session/session.js';
import { connectString, openSession, uniquePath, until } from '../helpers/cluster.js';
import { Peer } from '../helpers/peer.js';

type Kind = 'ours' | 'Curator' | 'kazoo';

/** How each client is set up on a path. */
interface Setup {
  readonly ours: LockOptions;
  readonly Curator: 'standard' | 'any';
  readonly kazoo: 'own' | 'both' | 'curator';
}

const AS_THEY_COME: Setup = { ours: {}, Curator: 'standard', kazoo: 'own' };
const NAMED_AS_CURATORS: Setup = { ...AS_THEY_COME, kazoo: 'curator' };
const WITH_KAZOO: Setup = { ours: { extraLockPatterns: ['__lock__'] }, Curator: 'standard', kazoo: 'both' };
const ANY_NAMES: Setup = { ...WITH_KAZOO, Curator: 'any' };

const LONG_SESSION_MS = 15_000;
const SHORT_SESSION_MS = 3000;
const startCurator = (sessionTimeoutMs: number) =>
  Peer.start(findCurator(), 'CuratorMutex.java', connectString(), sessionTimeoutMs);
const startKazoo = (sessionTimeoutMs: number) =>
  Peer.start(findKazoo(), 'kazoo_lock.py', connectString(), sessionTimeoutMs);

let curator: Peer | undefined;
let kazoo: Peer | undefined;

beforeAll(async () => {
  [curator, kazoo] = await Promise.all([startCurator(LONG_SESSION_MS), startKazoo(LONG_SESSION_MS)]);
});

afterAll(async () => {
  await Promise.all([curator?.quit(), kazoo?.quit()]);
});

/** Somebody who wants the lock, again and again. */
interface Contender {
  /** Resolves with the name of its node when it holds the lock, or `undefined` after `timeoutMs`. */
  acquire(timeoutMs?: number): Promise<string | undefined>;
  release(): Promise<void>;
}

/** A contender's stay in the queue. */
interface Turn {
  readonly kind: Kind;
  readonly node: string;
  readonly held: Promise<string | undefined>;
  release(): Promise<void>;
}

/** A lock's path, and what the servers say about the queue there. */
class Queue {
  readonly path = uniquePath('interop');
  readonly #session: Session;
  readonly #setup: Setup;
  readonly #guard: string;

  /** @param guarded - whether a second holder fails */
  constructor(session: Session, setup: Setup, { guarded = true } = {}) {
    this.#session = session;
    this.#setup = setup;
    this.#guard = guarded ? join(tmpdir(), `conclave-guard-${randomUUID()}`) : '-';
    onTestFinished(() => rmSync(this.#guard, { force: true }));
  }

  contender(kind: Kind, peer?: Peer): Contender {
    if (kind === 'ours') return this.#ours();
    const process = peer ?? (kind === 'Curator' ? curator : kazoo);
    if (process === undefined) throw new Error(`${kind} has not been started`);
    return this.#theirs(process, this.#setup[kind]);
  }

  /** Lets somebody join, and resolves when its node is there. */
  async join(kind: Kind, { peer, timeoutMs }: { peer?: Peer; timeoutMs?: number } = {}): Promise<Turn> {
    const before = await this.nodes();
    const contender = this.contender(kind, peer);
    const held = contender.acquire(timeoutMs);
    held.catch(() => undefined); // Whoever waits for it hears of it.
    let node: string | undefined;
    const joined = until(async () => {
      node = (await this.nodes()).find((each) => !before.includes(each));
      return node !== undefined;
    }, `the node of ${kind}`);
    await Promise.race([joined, held.then(() => joined)]);
    return { kind, node: node as unknown as string, held, release: () => contender.release() };
  }

  /** The nodes there, in the order of their creation, by their numbers. */
  async nodes(): Promise<string[]> {
    try {
      const children = await this.#session.getChildren(this.path);
      return children.sort((a, b) => compareSequences(numberOf(a), numberOf(b)));
    } catch (error) {
      if (error instanceof NoNodeError) return [];
      throw error;
    }
  }

  /** A holder that was killed did not leave by itself. */
  clearGuard(): void {
    rmSync(this.#guard);
  }

  #ours(): Contender {
    const lock = new DistributedLock(this.#session, this.path, this.#setup.ours);
    let hold: LockHold | undefined;
    return {
      acquire: async (timeoutMs) => {
        try {
          hold = await lock.acquire(timeoutMs === undefined ? {} : { timeoutMs });
        } catch (error) {
          if (error instanceof LockTimeoutError) return undefined;
          throw error;
        }
        if (this.#guard !== '-') closeSync(openSync(this.#guard, 'wx'));
        return hold.path.slice(this.path.length + 1);
      },
      release: async () => {
        if (this.#guard !== '-') rmSync(this.#guard);
        await hold?.release();
      },
    };
  }

  #theirs(peer: Peer, names: string): Contender {
    const id = randomUUID();
    return {
      acquire: async (timeoutMs = 0) =>
        (await peer.ask('acquire', id, this.path, this.#guard, timeoutMs, names))[2],
      release: async () => void (await peer.ask('release', id)),
    };
  }
}

const numberOf = (node: string) => Number(/-?\d+$/.exec(node)?.[0].slice(-10));

/**
 * Lets one hold after the other, each when the one before it has released, and for so long that somebody else who
 * thought it was its turn as well would run into the guard.
 */
async function serve(turns: readonly Turn[]): Promise<string[]> {
  const served: string[] = [];
  for (const turn of turns) {
    served.push((await turn.held) ?? 'nobody');
    await new Promise((resolve) => setTimeout(resolve, 40));
    await turn.release();
  }
  return served;
}

/** Each of the kinds comes directly behind each of them, also behind itself. */
function everyPair(kinds: readonly Kind[]): Kind[] {
  return kinds.flatMap((one, index) => [one, ...kinds.slice(index + 1).flatMap((two) => [one, two]), one]);
}

describe.each<[company: string, kinds: readonly Kind[], setup: Setup]>([
  ['ours and Curator, as they come', ['ours', 'Curator'], AS_THEY_COME],
  ['ours and kazoo, each told of the other', ['ours', 'kazoo'], WITH_KAZOO],
  ["ours, Curator, and kazoo with Curator's names", ['ours', 'Curator', 'kazoo'], NAMED_AS_CURATORS],
  ['ours, kazoo with its own names, and Curator taught them', ['ours', 'Curator', 'kazoo'], ANY_NAMES],
])('a queue of %s', (_company, kinds, setup) => {
  it('serves in the order of joining, whoever comes behind whom, and one at a time', async () => {
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
      // It goes on until everybody has followed everybody, which the queue alone decides.
      while (served.length < 30 * kinds.length || pairs.size < kinds.length ** 2) {
        const [next] = idle.splice(Math.floor(Math.random() * idle.length), 1);
        if (next === undefined) throw new Error('there are fewer contenders than lanes');
        served.push((await next.contender.acquire()) ?? 'nobody');
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
  it.each<[Exclude<Kind, 'ours'>, (sessionTimeoutMs: number) => Promise<Peer>]>([
    ['Curator', startCurator],
    ['kazoo', startKazoo],
  ])('goes on when the session of a killed process of %s has expired', async (kind, start) => {
    const [session, victim] = await Promise.all([openSession(), start(SHORT_SESSION_MS)]);
    onTestFinished(() => victim.kill());
    const led = new Queue(session, NAMED_AS_CURATORS);
    const waited = new Queue(session, NAMED_AS_CURATORS);
    const holder = await led.join(kind, { peer: victim });
    const heirs = [await led.join('ours'), await led.join('kazoo'), await led.join('Curator')];
    const first = await waited.join('ours');
    const waiter = await waited.join(kind, { peer: victim });
    const last = await waited.join('ours');
    await Promise.all([holder.held, first.held]);
    await victim.kill();
    await expect(waiter.held).rejects.toThrow('the process ended (SIGKILL)');
    expect(await led.nodes()).toContain(holder.node);
    led.clearGuard();
    expect(await serve(heirs)).toEqual(heirs.map(({ node }) => node));
    // Its place in the middle of the other queue is gone with it, and that made nobody hold too early.
    await until(async () => !(await waited.nodes()).includes(waiter.node), 'the end of the waiter');
    expect(await serve([first, last])).toEqual([first.node, last.node]);
  });

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

  it("is what Curator's getParticipantNodes shows, in order", async () => {
    const queue = new Queue(await openSession(), NAMED_AS_CURATORS);
    const turns = [await queue.join('Curator'), await queue.join('ours'), await queue.join('kazoo')];
    const id = randomUUID();
    await curator?.ask('acquire', id, queue.path, '-', 1, 'standard');
    const [, , ...participants] = (await curator?.ask('contenders', id)) ?? [];
    expect(participants).toEqual(turns.map(({ node }) => node));
    await serve(turns);
  });
});

describe('a path on which clients have different ideas of who contends', () => {
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

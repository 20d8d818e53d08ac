import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { LockTimeoutError, NoNodeError } from '../../../src/errors.js';
import { DistributedLock } from '../../../src/lock/distributed-lock.js';
import type { LockHold } from '../../../src/lock/lock-hold.js';
import type { LockOptions } from '../../../src/lock/lock-interface.js';
import type { QueueLock } from '../../../src/lock/queue-lock.js';
import { ReadWriteLock } from '../../../src/lock/read-write-lock.js';
import { compareSequences, type Purpose } from '../../../src/queue/names-and-order.js';
import type { Session } from '../../../src/session/session.js';
import { findCurator, findKazoo } from '../../../tools/peers/installed.mjs';
import { connectString, uniquePath } from '../../support/conclave/sessions.js';
import { until } from '../../support/waiting.mjs';
import { ForeignClient } from './foreign-client.js';

export type Kind = 'ours' | 'Curator' | 'kazoo';

/** The settings of each client on a path. */
export interface Setup {
  readonly ours: LockOptions;
  readonly Curator: 'standard' | 'any';
  readonly kazoo: 'own' | 'both' | 'curator';
}

export const AS_THEY_COME: Setup = { ours: {}, Curator: 'standard', kazoo: 'own' };

/** What a contender does with the lock, and how. */
export interface Manner {
  /** @default 'lock' */
  readonly purpose?: Purpose;
  /** Whether it releases the lock when another client asks for it. @default false */
  readonly heeds?: boolean;
  /** Whether its node outlives its session, as only kazoo can make it. @default false */
  readonly persistent?: boolean;
  /** The process that it belongs to. @default the process of its kind that all tests of the file share */
  readonly client?: ForeignClient;
}

/** A contender that may acquire the lock again and again. */
export interface Contender {
  /** Resolves with the name of its node when it holds the lock, or `undefined` after `timeoutMs`. */
  acquire(timeoutMs?: number): Promise<string | undefined>;
  /** Replaces its write lock by a read lock. */
  downgrade(): Promise<void>;
  release(): Promise<void>;
}

/** A contender's stay in the queue. */
export interface Turn {
  readonly kind: Kind;
  readonly purpose: Purpose;
  readonly node: string;
  readonly held: Promise<string | undefined>;
  downgrade(): Promise<void>;
  release(): Promise<void>;
}

const START = {
  Curator: (sessionTimeoutMs: number) =>
    ForeignClient.start(findCurator(), 'CuratorLock.java', connectString(), sessionTimeoutMs),
  kazoo: (sessionTimeoutMs: number) =>
    ForeignClient.start(findKazoo(), 'kazoo_lock.py', connectString(), sessionTimeoutMs),
};

/** Starts a process of another client. */
export async function startForeignClient(
  kind: Exclude<Kind, 'ours'>,
  sessionTimeoutMs: number,
): Promise<ForeignClient> {
  return await START[kind](sessionTimeoutMs);
}

const LONG_SESSION_MS = 15_000;
const clients = new Map<Kind, ForeignClient>();

/** Starts a process of each of these kinds, for all tests of the file. */
export function shareForeignClients(...kinds: Exclude<Kind, 'ours'>[]): void {
  beforeAll(async () => {
    await Promise.all(
      kinds.map(async (kind) => void clients.set(kind, await startForeignClient(kind, LONG_SESSION_MS))),
    );
  });
  afterAll(async () => {
    await Promise.all([...clients.values()].map((client) => client.quit()));
  });
}

/** The process that all tests of the file share. */
export function foreignClient(kind: Exclude<Kind, 'ours'>): ForeignClient {
  const client = clients.get(kind);
  if (client === undefined) throw new Error(`${kind} has not been started`);
  return client;
}

/**
 * Finds two contenders that wrongly hold at the same time, when it happens. Each contender first leaves a mark and then looks, so at
 * least one of the two sees the other. `test/interop/foreign-clients/README.md` describes the marks.
 */
class Guard {
  readonly alone = join(mkdtempSync(join(tmpdir(), 'conclave-guard-')), 'alone');

  remove(): void {
    rmSync(dirname(this.alone), { recursive: true });
  }

  enter(id: string, purpose: Purpose): void {
    closeSync(openSync(this.#mark(id, purpose), 'wx'));
    const marks = readdirSync(dirname(this.alone));
    if (purpose === 'read' ? existsSync(this.alone) : marks.length > 1)
      throw new Error(`${id} came to ${purpose} beside ${marks}`);
  }

  leave(id: string, purpose: Purpose): void {
    rmSync(this.#mark(id, purpose));
  }

  downgrade(id: string): void {
    closeSync(openSync(this.#mark(id, 'read'), 'wx'));
    this.leave(id, 'write');
  }

  #mark(id: string, purpose: Purpose): string {
    return purpose === 'read' ? join(dirname(this.alone), id) : this.alone;
  }
}

/** The queue of a lock's path, as the servers have it. */
export class Queue {
  readonly path = uniquePath('interop');
  readonly #session: Session;
  readonly #setup: Setup;
  readonly #guard: Guard | undefined;

  /** @param guarded - whether a contender that wrongly holds fails */
  constructor(session: Session, setup: Setup = AS_THEY_COME, { guarded = true } = {}) {
    this.#session = session;
    this.#setup = setup;
    if (!guarded) return;
    const guard = new Guard();
    this.#guard = guard;
    onTestFinished(() => guard.remove());
  }

  contender(kind: Kind, manner: Manner = {}): Contender {
    if (kind === 'ours') return this.#ours(manner);
    const { purpose = 'lock' } = manner;
    return this.#theirs(
      manner.client ?? foreignClient(kind),
      purpose === 'lock' ? this.#setup[kind] : purpose,
      manner,
    );
  }

  /** Lets a contender join, and resolves when its node is there. */
  async join(kind: Kind, { timeoutMs, ...manner }: Manner & { timeoutMs?: number } = {}): Promise<Turn> {
    const before = await this.nodes();
    const contender = this.contender(kind, manner);
    const held = contender.acquire(timeoutMs);
    held.catch(() => undefined); // The caller that awaits `held` gets the error.
    let node: string | undefined;
    const joined = until(async () => {
      node = (await this.nodes()).find((each) => !before.includes(each));
      return node !== undefined;
    }, `the node of ${kind}`);
    await Promise.race([joined, held.then(() => joined)]);
    return {
      kind,
      purpose: manner.purpose ?? 'lock',
      node: node as unknown as string,
      held,
      downgrade: () => contender.downgrade(),
      release: () => contender.release(),
    };
  }

  /** The nodes in the queue, by their numbers in the order of their creation. */
  async nodes(): Promise<string[]> {
    try {
      const children = await this.#session.getChildren(this.path);
      return children.sort((a, b) => compareSequences(numberOf(a), numberOf(b)));
    } catch (error) {
      if (error instanceof NoNodeError) return [];
      throw error;
    }
  }

  /** The contenders that a kind of client lists: our locks, Curator's `getParticipantNodes` or kazoo's `contenders`. */
  async listedBy(kind: Kind, purpose: Purpose = 'lock'): Promise<string[]> {
    if (kind === 'ours') return (await this.lock(purpose).contenders()).map(({ node }) => node);
    const names = purpose === 'lock' ? this.#setup[kind] : purpose;
    return (await foreignClient(kind).ask('contenders', randomUUID(), this.path, names)).slice(2);
  }

  /** Our lock on this path. */
  lock(purpose: Purpose, options?: LockOptions): QueueLock {
    const all = { ...this.#setup.ours, ...options };
    if (purpose === 'lock') return new DistributedLock(this.#session, this.path, all);
    return sideOf(this.#table(options), purpose);
  }

  #table(options?: LockOptions): ReadWriteLock {
    return new ReadWriteLock(this.#session, this.path, { ...this.#setup.ours, ...options });
  }

  /** Removes the mark of a killed holder, which couldn't remove it. */
  clearGuard(): void {
    if (this.#guard !== undefined) rmSync(this.#guard.alone);
  }

  #ours({ purpose = 'lock', heeds = false }: Manner): Contender {
    const id = randomUUID();
    const guard = this.#guard;
    let mark = purpose;
    let entering: Promise<LockHold> | undefined;
    let hold: LockHold | undefined;
    const release = async () => {
      guard?.leave(id, mark);
      await hold?.release();
    };
    // Another client may ask for the lock before this test has heard that our lock holds.
    const onRevoke = () => void entering?.then(release);
    const options = heeds ? { onRevoke } : {};
    const table = this.#table(options);
    const lock = purpose === 'lock' ? this.lock(purpose, options) : sideOf(table, purpose);
    return {
      release,
      acquire: async (timeoutMs) => {
        try {
          mark = purpose;
          entering = lock.acquire(timeoutMs === undefined ? {} : { timeoutMs }).then((held) => {
            guard?.enter(id, purpose);
            hold = held;
            return held;
          });
          return nameOf((await entering).path);
        } catch (error) {
          if (error instanceof LockTimeoutError) return undefined;
          throw error;
        }
      },
      downgrade: async () => {
        guard?.downgrade(id);
        mark = 'read';
        hold = await table.downgrade(hold as LockHold);
      },
    };
  }

  #theirs(client: ForeignClient, names: string, { heeds = false, persistent = false }: Manner): Contender {
    const id = randomUUID();
    const guard = this.#guard?.alone ?? '-';
    const manner = [...(heeds ? ['heeds'] : []), ...(persistent ? ['persistent'] : [])];
    return {
      acquire: async (timeoutMs = 0) =>
        (await client.ask('acquire', id, this.path, guard, timeoutMs, names, ...manner))[2],
      downgrade: async () => void (await client.ask('downgrade', id)),
      release: async () => void (await client.ask('release', id)),
    };
  }
}

const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1);

export const numberOf = (node: string) => Number(/-?\d+$/.exec(node)?.[0].slice(-10));

/**
 * Lets one turn hold after the other, and readers without a writer between them together, each when the turns before have
 * released. Each holds long enough that the guard finds another contender that wrongly takes its turn, too.
 *
 * @returns the nodes that held
 */
export async function serve(turns: readonly Turn[]): Promise<string[]> {
  let entered = 0;
  for (const { held } of turns)
    void held.then(
      () => entered++,
      () => undefined, // The code below sees the error.
    );
  const served: string[] = [];
  for (const group of groupsOf(turns)) {
    served.push(...(await Promise.all(group.map(async ({ held }) => (await held) ?? 'timeout'))));
    await pause(40);
    expect(entered).toBe(served.length); // No reader has overtaken a waiting writer.
    // The turn nearest to the turns behind releases first. Those have to wait for the rest of the group all the same.
    for (const turn of group.toReversed()) await turn.release();
  }
  return served;
}

/** The turns that hold at the same time. */
function groupsOf(turns: readonly Turn[]): Turn[][] {
  const groups: Turn[][] = [];
  for (const turn of turns) {
    const last = groups.at(-1);
    if (turn.purpose === 'read' && last?.[0]?.purpose === 'read') last.push(turn);
    else groups.push([turn]);
  }
  return groups;
}

/** A sequence in which each comes directly behind each, also behind itself. */
export function everyPair<T>(all: readonly T[]): T[] {
  return all.flatMap((one, index) => [one, ...all.slice(index + 1).flatMap((two) => [one, two]), one]);
}

function sideOf(table: ReadWriteLock, purpose: Exclude<Purpose, 'lock'>): QueueLock {
  return purpose === 'read' ? table.readLock : table.writeLock;
}

import { describe, expect, it } from 'vitest';
import type { LeaseInstant } from '../../../../src/platform/time/clock.js';
import type { Connection } from '../../../../src/session/connection/connection.js';
import type { Repeats } from '../../../../src/session/connection/tcp-and-tls.js';
import type { Given } from '../../../../src/session/connection-thread/heartbeat-repeater.js';
import type { ProvenNode, RaisedVersion } from '../../../../src/session/keep-alive/heartbeat-batch.js';
import { KeepAlive } from '../../../../src/session/keep-alive/keep-alive.js';
import type { Request } from '../../../../src/session/protocol/requests.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { instantAt } from '../../../support/lease-instant.js';
import { loggerOfWarnings } from '../../../support/recording-logger.js';
import { settle } from '../../../support/waiting.mjs';

const TIMES = { leaseMs: 1000, sessionTimeoutMs: 6000 };
const MAX_STALL_MS = 60_000;

class FakeNode implements ProvenNode {
  extendedByThread: SharedArrayBuffer[] = [];
  readonly shown: unknown[] = [];
  readonly absolutePath: string;
  readonly raised: RaisedVersion | undefined;

  constructor(absolutePath: string, isRaised = true) {
    this.absolutePath = absolutePath;
    if (!isRaised) return;
    this.raised = {
      version: 3,
      absoluteRaise: (byThread) => ({
        kind: 'set',
        path: `${absolutePath}-h`,
        data: Buffer.from(byThread ? 'by a thread' : ''),
      }),
      written: () => true,
      shown: (...args) => void this.shown.push(args),
      refused: () => undefined,
    };
  }

  confirmed(_: LeaseInstant): void {
    return undefined;
  }
  gone(): void {
    return undefined;
  }
  unreadable(): void {
    return undefined;
  }
}

function setUp() {
  const clock = new TestClock();
  const given: (Given | undefined)[] = [];
  let repeats: Repeats | undefined;
  const answers: (() => void)[] = [];
  const connection = {
    server: { host: 'fake', port: 1 },
    give: (next: () => Given | undefined, to: Repeats) => {
      given.push(next());
      repeats = to;
    },
    send: (request: Request<unknown>) =>
      new Promise((resolve) => {
        const { length } = request.encode(0);
        answers.push(() => resolve({ value: [], zxid: 1n, sentAt: instantAt(clock.now()), length }));
      }),
    ping: () => Promise.resolve(),
    destroy: () => undefined,
  } as unknown as Connection;
  const stalls: number[] = [];
  const took: number[] = [];
  let repeated = 0;
  const { warnings: warned, logger } = loggerOfWarnings();
  const keepAlive = new KeepAlive(clock, logger, (ms) => void took.push(ms), {
    maxStallMs: MAX_STALL_MS,
    onRepeated: () => void repeated++,
    onStall: (ms) => void stalls.push(ms),
  });
  const start = () => keepAlive.start(connection, TIMES);
  const answer = async () => {
    answers.shift()?.();
    await settle();
  };
  const heard = () => repeats as Repeats;
  return { clock, given, keepAlive, start, answer, heard, warned, stalls, took, repeated: () => repeated };
}

const lease = () => new SharedArrayBuffer(24);

describe('what the thread of a connection is given', () => {
  it('is the heartbeat of what is held, in its steady form, from when the connection serves', () => {
    const { given, keepAlive, start } = setUp();
    const node = new FakeNode('/a');
    node.extendedByThread = [lease()];
    keepAlive.add(node);
    start();
    const [held] = given.at(-1)?.held ?? [];
    expect(given.at(-1)).toMatchObject(TIMES);
    expect(held).toMatchObject({ id: 1, raisedBy: 1, version: 3, parts: 2, memory: node.extendedByThread });
    expect(Buffer.from(held?.frame ?? []).includes('by a thread')).toBe(true);
    expect(Buffer.from(held?.frame ?? []).includes('/a-h')).toBe(true);
  });

  it('is nothing to repeat for nodes by which nothing is held, though the thread knows their heartbeat', async () => {
    const { clock, given, keepAlive, start } = setUp();
    keepAlive.add(new FakeNode('/waiting'));
    start();
    await clock.advance(0);
    const [heartbeat] = given.at(-1)?.heartbeats ?? [];
    expect(heartbeat?.nodes).toEqual([{ id: 1, raisedBy: 1, version: 3 }]);
    expect(Buffer.from(heartbeat?.frame ?? []).includes('by a thread')).toBe(false); // The thread knows it by its bytes.
    expect(given.flatMap((each) => each?.held)).toEqual([]);
  });

  it('to repeat is the heartbeat of the held nodes alone, if there are others', () => {
    const { given, keepAlive, start } = setUp();
    const held = new FakeNode('/held', false);
    keepAlive.add(new FakeNode('/waiting'));
    keepAlive.add(held);
    start();
    held.extendedByThread = [lease()];
    keepAlive.heldByChanged(held);
    const [ofHeld, ...others] = given.at(-1)?.held ?? [];
    expect(others).toEqual([]);
    expect(ofHeld).toMatchObject({ id: 1, raisedBy: undefined, version: 0 });
    expect(Buffer.from(ofHeld?.frame ?? []).includes('/waiting')).toBe(false);
  });

  it('no longer has a node as soon as that is removed, before anything else can be written', () => {
    const { given, keepAlive, start } = setUp();
    const node = new FakeNode('/a');
    node.extendedByThread = [lease()];
    keepAlive.add(node);
    start();
    keepAlive.remove(node);
    expect(given.at(-1)).toMatchObject({ released: [1], held: [] });
  });

  it('cost all that was held for each change, and so quadratic time for many holds', () => {
    const { given, keepAlive, start } = setUp();
    start();
    const nodes = ['/a', '/b', '/c'].map((path) => new FakeNode(path));
    for (const node of nodes) {
      keepAlive.add(node);
      node.extendedByThread = [lease()];
      keepAlive.heldByChanged(node);
    }
    keepAlive.remove(nodes[1] as FakeNode);
    expect(given.map((each) => [each?.held.map(({ id }) => id), each?.released, each?.heartbeats])).toEqual([
      [[], [], undefined],
      [[1], [], undefined],
      [[2], [], undefined],
      [[3], [], undefined],
      [[], [2], undefined],
    ]);
  });

  it('is nothing at all once the session has ended or lost the connection', () => {
    const { given, keepAlive, start } = setUp();
    start();
    keepAlive.stop();
    expect(given.at(-1)).toBeUndefined();
  });
});

describe('what the thread of a connection reports', () => {
  it('shows the versions that it has raised, as an answer to this thread would', () => {
    const { keepAlive, start, heard, repeated } = setUp();
    const node = new FakeNode('/a');
    node.extendedByThread = [lease()];
    keepAlive.add(node);
    start();
    heard().repeated({ zxid: 9n, versions: [{ id: 1, version: 7 }] });
    expect(node.shown).toEqual([[7, 9n]]);
    expect(repeated()).toBe(1);
  });

  /** A session that stands still now and then. */
  async function setUpStalling() {
    const { clock, keepAlive, start, answer, heard, stalls, warned } = setUp();
    const node = new FakeNode('/a');
    node.extendedByThread = [lease()];
    keepAlive.add(node);
    start();
    await clock.advance(0);
    await answer();
    const stall = async (ms: number) => {
      clock.jump(ms); // The loop doesn't turn, so no timer fires.
      for (let sent = 0; sent < 5; sent++) heard().repeated({ zxid: 9n, versions: [] });
      await clock.advance(0); // The heartbeat that is overdue.
      await answer();
    };
    return { stall, stalls, warned };
  }
  const stood = (ms: number) =>
    `the main thread stood still for at least ${ms} ms: a thread sent its heartbeats`;

  it('is one stall, however many heartbeats the thread has sent in it, and is logged at most once a minute', async () => {
    const { stall, stalls, warned } = await setUpStalling();
    await stall(5000);
    expect(stalls).toEqual([4750]);
    await stall(3000);
    expect(stalls).toEqual([4750, 2750]);
    expect(warned).toEqual([stood(4750)]);
    await stall(56_000);
    expect(warned).toHaveLength(2);
  });

  it('hid long stalls behind a short one of the same minute', async () => {
    const { stall, warned } = await setUpStalling();
    for (const ms of [350, 5000, 5100, 9000]) await stall(ms);
    expect(warned).toEqual([100, 4750, 8750].map(stood));
  });

  it('said of a stall beyond maxStallMs that a thread had sent the heartbeats', async () => {
    const { stall, warned } = await setUpStalling();
    await stall(MAX_STALL_MS + 250);
    expect(warned).toEqual([
      'the main thread stood still for at least 60000 ms, longer than maxStallMs: a thread sent its heartbeats for that long',
    ]);
  });

  it('is how long an answer took, which this thread may have read much later', async () => {
    const { clock, keepAlive, start, answer, heard, took } = setUp();
    keepAlive.add(new FakeNode('/a'));
    start();
    await clock.advance(0);
    clock.jump(5000);
    heard().answered(3);
    await answer();
    expect(took).toEqual([3]);
  });
});

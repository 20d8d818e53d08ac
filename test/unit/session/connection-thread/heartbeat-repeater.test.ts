import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pingsEveryMs, repeatsEveryMs } from '../../../../src/platform/time/heartbeat-intervals.js';
import type { MachineInstant } from '../../../../src/platform/time/machine-instant.js';
import { FrameFilter } from '../../../../src/session/connection-thread/frame-filter.js';
import {
  type Given,
  type GivenHeartbeat,
  type GivenNode,
  HeartbeatRepeater,
  type HeldNode,
  type RepeatAnswer,
} from '../../../../src/session/connection-thread/heartbeat-repeater.js';
import {
  encodePing,
  FIRST_THREAD_XID,
  joinTransactions,
  PING_XID,
} from '../../../../src/session/protocol/frame-layout.js';
import { heartbeatRequest } from '../../../../src/session/protocol/requests.js';
import { greeting, reply } from '../../../support/wire/fake-server.mjs';
import { Writer } from '../../../support/wire/jute.mjs';

const TIMES = { leaseMs: 1600, sessionTimeoutMs: 4800 };
const REPEAT_MS = repeatsEveryMs(TIMES); // 500.
const HELD = '/election/leader';
const WAITING = '/other/candidate';

/** The lease of a held node. The test tells leases apart by identity. */
const lease = () => new SharedArrayBuffer(8);

function heartbeatOf(nodes: readonly Node[]): GivenHeartbeat {
  const parts = nodes.flatMap(({ path, isRaised }) => [
    { kind: 'check' as const, path },
    ...(isRaised ? [{ kind: 'set' as const, path: `${path}-heartbeat`, data: Buffer.alloc(0) }] : []),
  ]);
  let at = 0;
  const given = nodes.map(({ id, isRaised, version }) => {
    const raisedBy = isRaised ? at + 1 : undefined;
    at += isRaised ? 2 : 1;
    return { id, raisedBy, version };
  });
  return { frame: heartbeatRequest(parts).encode(0), nodes: given };
}

function heldNode(of: Node, memory: readonly SharedArrayBuffer[] = []): HeldNode {
  const { frame, nodes } = heartbeatOf([of]);
  return { ...(nodes[0] as GivenNode), frame, parts: of.isRaised ? 2 : 1, memory };
}

interface Node {
  readonly id: number;
  readonly path: string;
  readonly isRaised: boolean;
  readonly version: number;
}

const node = (id: number, path: string, more: Partial<Node> = {}): Node => ({
  id,
  path,
  isRaised: true,
  version: 0,
  ...more,
});

/** The answer to a committed heartbeat: of each node the version, or `undefined` if it is only checked. */
function committed(xid: number, versions: readonly (number | undefined)[]): Buffer {
  const body = new Writer();
  for (const version of versions) {
    body.int(13).bool(false).int(0);
    if (version === undefined) continue;
    const stat = Buffer.alloc(68);
    stat.writeInt32BE(version, 32);
    body.int(5).bool(false).int(0).raw(stat);
  }
  return reply(xid, { body: body.int(-1).bool(true).int(-1).done(), zxid: 7n });
}

function refused(xid: number): Buffer {
  const body = new Writer().int(-1).bool(false).int(-101).int(-101);
  return reply(xid, { body: body.int(-1).bool(true).int(-1).done(), code: 0 });
}

function setUp() {
  const time = { ms: 0 };
  const toServer: { xid: number; bytes: Buffer; at: number; by: 'main' | 'thread' }[] = [];
  const toMain: Buffer[] = [];
  const extended: { lease: SharedArrayBuffer; sentAt: MachineInstant }[] = [];
  const took: number[] = [];
  const repeated: RepeatAnswer[] = [];
  const repeater = new HeartbeatRepeater({
    now: () => time.ms,
    instant: () => ({ monotonicMs: time.ms }),
    write: (bytes) => void toServer.push({ xid: bytes.readInt32BE(4), bytes, at: time.ms, by: 'thread' }),
    proved: (lease, sentAt) => void extended.push({ lease, sentAt }),
    answered: (ms) => void took.push(ms),
    repeated: (answer) => void repeated.push(answer),
  });
  const filter = new FrameFilter({
    handlingOf: (xid) => repeater.handlingOf(xid),
    pass: (bytes) => void toMain.push(bytes),
    show: (frame) => repeater.show(frame),
    unreadable: () => repeater.unreadable(),
  });
  const mainWrites = (...frames: Buffer[]) => {
    repeater.writing(Buffer.concat(frames));
    for (const bytes of frames) toServer.push({ xid: bytes.readInt32BE(4), bytes, at: time.ms, by: 'main' });
  };
  const beat = (mainTurns = true) => {
    const before = toServer.length;
    repeater.beat(mainTurns);
    return toServer.slice(before).map(({ xid }) => xid);
  };
  return { time, repeater, filter, toServer, toMain, extended, took, repeated, mainWrites, beat };
}

/** As {@link setUp}, over a connection that serves, with these nodes held. @param heartbeats - of the main thread; one of all of these nodes */
function setUpServed(held: readonly HeldNode[], heartbeats: readonly GivenHeartbeat[] = [joined(held)]) {
  const all = setUp();
  all.mainWrites(greeting(4800)); // Any frame: the handshake has no xid.
  all.filter.push(greeting(4800));
  all.toMain.length = 0;
  all.toServer.length = 0;
  const give = (changed: Partial<Given> | undefined) =>
    all.repeater.give(changed && { ...TIMES, released: [], held: [], heartbeats: undefined, ...changed });
  give({ held, heartbeats });
  const passed = () => Buffer.concat(all.toMain);
  return { ...all, give, passed };
}

/** The heartbeat of the main thread for these nodes. */
function joined(held: readonly HeldNode[]): GivenHeartbeat {
  let before = 0;
  const nodes = held.map(({ id, raisedBy, version, parts }) => {
    const at = before;
    before += parts;
    return { id, raisedBy: raisedBy === undefined ? undefined : at + raisedBy, version };
  });
  return {
    frame: held.length === 0 ? new Uint8Array() : joinTransactions(held.map(({ frame }) => frame)),
    nodes,
  };
}

function withXid(heartbeat: GivenHeartbeat, xid: number): Buffer {
  const bytes = Buffer.from(heartbeat.frame);
  bytes.writeInt32BE(xid, 4);
  return bytes;
}

describe('a repeated heartbeat', () => {
  it('is sent 5/16 of a lease after the newest heartbeat of either thread, byte for byte but for its xid', () => {
    const held = heldNode(node(1, HELD));
    const heartbeat = joined([held]);
    const { time, repeater, filter, toServer, mainWrites, beat } = setUpServed([held]);
    time.ms = 400;
    mainWrites(withXid(heartbeat, 5));
    filter.push(committed(5, [1]));
    expect(repeater.dueAt).toBe(400 + REPEAT_MS);
    time.ms = 399 + REPEAT_MS;
    expect(beat()).toEqual([]);
    time.ms = 400 + REPEAT_MS;
    expect(beat()).toEqual([FIRST_THREAD_XID]);
    expect(toServer.at(-1)?.bytes).toEqual(withXid(heartbeat, FIRST_THREAD_XID));
    filter.push(committed(FIRST_THREAD_XID, [2]));
    expect(repeater.dueAt).toBe(400 + 2 * REPEAT_MS);
  });

  it('comes later than the heartbeat that a main thread sends that turns', () => {
    expect(repeatsEveryMs(TIMES)).toBeGreaterThan(TIMES.leaseMs / 4);
    expect(repeatsEveryMs({ leaseMs: 5000, sessionTimeoutMs: 6000 })).toBeGreaterThan(6000 / 5);
  });

  it('is not sent for a main thread whose loop does not turn', () => {
    const { time, beat } = setUpServed([heldNode(node(1, HELD))]);
    time.ms = 10_000;
    expect(beat(false)).toEqual([]);
    expect(beat(true)).toEqual([FIRST_THREAD_XID]);
  });

  it('is not sent while a heartbeat of either thread is unanswered', () => {
    const held = heldNode(node(1, HELD));
    const heartbeat = joined([held]);
    const { time, repeater, filter, mainWrites, beat } = setUpServed([held]);
    mainWrites(withXid(heartbeat, 5));
    time.ms = 10_000;
    expect(repeater.dueAt).toBe(Number.POSITIVE_INFINITY);
    expect(beat()).toEqual([]);
    filter.push(committed(5, [1]));
    expect(beat()).toEqual([FIRST_THREAD_XID]);
    time.ms = 20_000;
    expect(beat()).toEqual([]);
  });

  it('is not sent while a ping is unanswered', () => {
    const { time, filter, mainWrites, beat } = setUpServed([heldNode(node(1, HELD))]);
    mainWrites(encodePing());
    time.ms = 10_000;
    expect(beat()).toEqual([]);
    filter.push(reply(PING_XID));
    expect(beat()).toEqual([FIRST_THREAD_XID]);
  });

  it('is only one that the main thread gave for what it holds', () => {
    const held = heldNode(node(1, HELD));
    const all = heartbeatOf([node(1, HELD), node(2, WAITING)]);
    const { time, filter, toServer, give, beat } = setUpServed([], [all]);
    time.ms = 10_000;
    expect(beat()).toEqual([PING_XID]); // Nothing is held yet.
    filter.push(reply(PING_XID));
    give({ held: [held] });
    expect(beat()).toEqual([FIRST_THREAD_XID]);
    expect(toServer.at(-1)?.bytes).toEqual(withXid(joined([held]), FIRST_THREAD_XID));
    filter.push(committed(FIRST_THREAD_XID, [1]));
    give({ released: [1] }); // The main thread is about to release it.
    time.ms = 20_000;
    expect(beat()).toEqual([PING_XID]);
  });

  it('is not sent once the main thread has stopped its heartbeats', () => {
    const { time, give, beat } = setUpServed([heldNode(node(1, HELD))]);
    give(undefined);
    time.ms = 100_000;
    expect(beat()).toEqual([]);
  });

  it.each<[string, (xid: number) => Buffer]>([
    ['that is refused is the last one until the main thread has sent one that is confirmed', refused],
    [
      'that shows a version that did not rise is the last one until the main thread has sent one that is confirmed',
      (xid) => committed(xid, [3]),
    ],
    [
      'that is throttled is the last one until the main thread has sent one that is confirmed',
      (xid) => reply(xid, { code: -127 }),
    ],
    [
      "whose answer can't be read is the last one until the main thread has sent one that is confirmed",
      (xid) => reply(xid, { body: Buffer.from([1, 2, 3]) }),
    ],
  ])('%s', (_, answer) => {
    const held = heldNode(node(1, HELD, { version: 3 }), [lease()]);
    const heartbeat = joined([held]);
    const { time, filter, extended, mainWrites, beat, give } = setUpServed([held]);
    time.ms = 10_000;
    const [xid = 0] = beat();
    filter.push(answer(xid));
    expect(extended).toEqual([]);
    give({ held: [held], heartbeats: [heartbeat] });
    time.ms = 20_000;
    expect(beat()).toEqual([PING_XID]); // The session lives on.
    filter.push(reply(PING_XID));
    mainWrites(withXid(heartbeat, 5));
    filter.push(committed(5, [4]));
    time.ms = 30_000;
    expect(beat()).toEqual([FIRST_THREAD_XID + 1]);
  });

  it('that is refused is the last one until one for the same nodes is confirmed, whatever came of others on their way', () => {
    const held = [heldNode(node(1, HELD)), heldNode(node(2, '/other/leader'))] as const;
    const [refusedOne, other] = [joined([held[0]]), joined([held[1]])];
    const { time, filter, toServer, mainWrites, beat } = setUpServed(held, [refusedOne, other]);
    mainWrites(withXid(refusedOne, 5), withXid(other, 6));
    filter.push(refused(5));
    filter.push(committed(6, [1]));
    time.ms = REPEAT_MS;
    expect(beat()).toEqual([FIRST_THREAD_XID]); // Of the others, the proof goes on.
    expect(toServer.at(-1)?.bytes).toEqual(withXid(other, FIRST_THREAD_XID));
    filter.push(committed(FIRST_THREAD_XID, [2]));
    mainWrites(withXid(refusedOne, 7));
    filter.push(committed(7, [1]));
    time.ms = 2 * REPEAT_MS;
    expect(beat()).toHaveLength(1);
    expect(toServer.at(-1)?.bytes).toEqual(withXid(joined(held), FIRST_THREAD_XID + 1)); // Of both again.
  });

  it('uses no xid of the main thread, whatever their number', () => {
    const { time, filter, beat } = setUpServed([heldNode(node(1, HELD, { isRaised: false }))]);
    for (let sent = 0; sent < 50; sent++) {
      time.ms += 1000;
      const [xid = 0] = beat();
      expect(xid).toBe(FIRST_THREAD_XID + sent);
      filter.push(committed(xid, [undefined]));
    }
  });
});

describe('a lease', () => {
  it('counts from before a heartbeat of either thread was written, and begins with the reply that confirms it', () => {
    const shared = lease();
    const held = heldNode(node(1, HELD), [shared]);
    const heartbeat = joined([held]);
    const { time, filter, extended, repeated, mainWrites, beat, took } = setUpServed([held]);
    time.ms = 100;
    mainWrites(withXid(heartbeat, 5));
    time.ms = 900;
    expect(extended).toEqual([]);
    filter.push(committed(5, [1]));
    expect(extended).toEqual([{ lease: shared, sentAt: { monotonicMs: 100 } }]);
    expect(took).toEqual([800]);
    const [xid = 0] = beat();
    time.ms = 1200;
    filter.push(committed(xid, [2]));
    expect(extended[1]).toEqual({ lease: shared, sentAt: { monotonicMs: 900 } });
    expect(repeated).toEqual([{ zxid: 7n, versions: [{ id: 1, version: 2 }] }]); // The main thread hears of it.
  });

  it('of one node goes on, in all memory that shows it, though the version of another one did not rise', () => {
    const [good, more, bad] = [lease(), lease(), lease()];
    const held = [heldNode(node(1, HELD), [good, more]), heldNode(node(2, WAITING, { version: 8 }), [bad])];
    const { time, filter, extended, beat } = setUpServed(held);
    time.ms = 10_000;
    const [xid = 0] = beat();
    filter.push(committed(xid, [1, 8]));
    expect(extended.map(({ lease }) => lease)).toEqual([good, more]);
  });

  it('does not begin with a version that the thread has seen before, though the main thread has not', () => {
    const held = heldNode(node(1, HELD), [lease()]);
    const { time, filter, extended, beat, give } = setUpServed([held]);
    time.ms = 10_000;
    const [first = 0] = beat();
    filter.push(committed(first, [5]));
    give({ held: [held], heartbeats: [joined([held])] }); // The main thread still knows version 0 only.
    time.ms = 20_000;
    const [second = 0] = beat();
    filter.push(committed(second, [5]));
    expect(extended).toHaveLength(1);
  });
});

describe('a ping', () => {
  it('keeps a session that holds nothing, a quarter of the session timeout after anything was written', () => {
    const { time, repeater, filter, mainWrites, beat, passed } = setUpServed([]);
    time.ms = 300;
    mainWrites(encodePing());
    filter.push(reply(PING_XID));
    const toMain = passed();
    expect(repeater.dueAt).toBe(300 + pingsEveryMs(TIMES));
    time.ms = 300 + pingsEveryMs(TIMES);
    expect(beat()).toEqual([PING_XID]);
    filter.push(reply(PING_XID));
    expect(passed()).toEqual(toMain); // The reply to the thread's own.
  });

  it('is not sent for a main thread whose loop does not turn', () => {
    const { time, beat } = setUpServed([]);
    time.ms = 100_000;
    expect(beat(false)).toEqual([]);
  });
});

describe('a peer that sends no frames', () => {
  it('gets no heartbeat from the thread, and all that it sends passes', () => {
    const { time, filter, beat, passed, give } = setUpServed([heldNode(node(1, HELD))]);
    const long = Buffer.alloc(12, 0x7f);
    filter.push(long);
    give({ held: [heldNode(node(1, HELD))] });
    time.ms = 100_000;
    expect(beat()).toEqual([]);
    filter.push(reply(FIRST_THREAD_XID));
    expect(passed()).toEqual(Buffer.concat([long, reply(FIRST_THREAD_XID)]));
  });
});

/** A step and how likely it is. Each kind uses the values that it needs. */
const kind = fc.oneof(
  ...(
    [
      ['main beats', 2],
      ['main pings', 1],
      ['main asks', 1],
      ['time', 4],
      ['thread', 6],
      ['answer', 9],
      ['event', 1],
      ['give', 1],
    ] as const
  ).map(([name, weight]) => ({ weight, arbitrary: fc.constant(name) })),
);
const steps = fc.array(
  fc.record({
    kind,
    bytes: fc.nat({ max: 30 }),
    ms: fc.integer({ min: 100, max: 1300 }),
    turns: fc.nat({ max: 3 }).map((n) => n > 0),
    cut: fc.nat({ max: 200 }),
    isHeld: fc.boolean(),
  }),
  { minLength: 20, maxLength: 80 },
);

describe('in any course of events', () => {
  it('the main thread gets all replies to its own requests and no others, and a lease counts from before its proof was written', () => {
    let repeats = 0;
    fc.assert(
      fc.property(steps, (course) => {
        const held = heldNode(node(1, HELD), [lease()]);
        const heartbeat = joined([held]);
        const world = setUpServed([held]);
        const { time, filter, toServer, extended, mainWrites, repeater, give, passed } = world;
        let [mainXid, answered, version, isHeld] = [0, 0, 0, true];
        const expected: Buffer[] = [];
        const proofs: number[] = [];
        const push = (bytes: Buffer, cut: number) => {
          filter.push(Buffer.from(bytes.subarray(0, cut)));
          if (cut < bytes.length) filter.push(Buffer.from(bytes.subarray(cut)));
        };
        for (const step of course) {
          if (step.kind === 'main beats') mainWrites(withXid(heartbeat, ++mainXid));
          else if (step.kind === 'main pings') mainWrites(encodePing());
          else if (step.kind === 'main asks')
            mainWrites(reply(++mainXid, { body: Buffer.alloc(step.bytes) }));
          else if (step.kind === 'time') time.ms += step.ms;
          else if (step.kind === 'thread') {
            const before = toServer.length;
            repeater.beat(step.turns);
            const sent = toServer.slice(before);
            repeats += sent.filter(({ xid }) => xid !== PING_XID).length;
            if (!step.turns) expect(sent).toEqual([]);
            if (!isHeld) expect(sent.filter(({ xid }) => xid !== PING_XID)).toEqual([]);
          } else if (step.kind === 'give') {
            isHeld = step.isHeld;
            give(isHeld ? { held: [held] } : { released: [1] });
          } else if (step.kind === 'event') {
            expected.push(reply(-1, { body: Buffer.alloc(9) }));
            filter.push(reply(-1, { body: Buffer.alloc(9) }));
          } else {
            const request = toServer[answered];
            if (request === undefined) continue;
            answered++;
            const isBeat = request.bytes.length === heartbeat.frame.length && request.xid > 0;
            const isProof = isBeat && request.bytes.readInt32BE(8) === 14;
            const bytes = isProof ? committed(request.xid, [++version]) : reply(request.xid);
            if (isProof && isHeld) proofs.push(request.at);
            if (request.by === 'main') expected.push(bytes);
            push(bytes, Math.min(step.cut, bytes.length));
          }
        }
        expect(passed()).toEqual(Buffer.concat(expected));
        expect(extended.map(({ sentAt }) => sentAt.monotonicMs)).toEqual(proofs);
      }),
      { numRuns: 300 },
    );
    expect(repeats).toBeGreaterThan(50); // Otherwise the courses would show nothing.
  });
});

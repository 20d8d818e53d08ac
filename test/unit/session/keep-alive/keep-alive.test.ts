import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConnectionLossError, NoNodeError, ZooKeeperError } from '../../../../src/errors.js';
import type { LeaseInstant } from '../../../../src/platform/time/clock.js';
import { heartbeatIntervalMs, replyWithinMs } from '../../../../src/platform/time/heartbeat-intervals.js';
import type { Connection } from '../../../../src/session/connection/connection.js';
import type { Reply } from '../../../../src/session/connection/reply.js';
import type { ProvenNode } from '../../../../src/session/keep-alive/heartbeat-batch.js';
import {
  type AccompanyingReads,
  KeepAlive,
  LateReplies,
} from '../../../../src/session/keep-alive/keep-alive.js';
import { existsRequest, type Request, TransactionError } from '../../../../src/session/protocol/requests.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { instantAt, msOf } from '../../../support/lease-instant.js';
import { SILENT } from '../../../support/silent-logger.mjs';
import { settle } from '../../../support/waiting.mjs';

const TIMES = { leaseMs: 1000, sessionTimeoutMs: 3000 };
const SHORT_LEASE = { leaseMs: 300, sessionTimeoutMs: 6000 };

/** A connection that keeps each sent request until the test answers it. */
class FakeConnection {
  readonly sent: { name: string; at: number; answer: () => void; fail: (error: Error) => void }[] = [];
  destroyed: Error | undefined;
  onSend: (request: Request<unknown>) => void = () => undefined;
  /** How often the heartbeat has asked it to end. */
  ends = 0;
  constructor(private readonly clock: TestClock) {}

  /** What was sent, and when. */
  get log(): string[] {
    return this.sent.map(({ name, at }) => `${name} ${at}`);
  }

  send(request: Request<unknown>): Promise<Reply<unknown>> {
    this.onSend(request);
    return new Promise((resolve, reject) => {
      const at = this.clock.now();
      this.sent.push({
        name: request.name,
        at,
        answer: () => resolve({ value: undefined, zxid: 1n, sentAt: instantAt(at) }),
        fail: reject,
      });
    });
  }

  ping(): Promise<Reply<unknown>> {
    return this.send({ name: 'ping' } as Request<unknown>);
  }

  destroy(reason: Error): void {
    this.destroyed ??= reason;
    this.ends++;
  }
}

function setUp() {
  const clock = new TestClock();
  const connection = new FakeConnection(clock);
  const warnings: object[] = [];
  const warn = (details: object) => void warnings.push(details);
  const heartbeat = new KeepAlive(clock, { ...SILENT, warn });
  const start = (times = TIMES) => heartbeat.start(connection as unknown as Connection, times);
  /** Lets time pass, and answers what was sent by then, so many times. */
  const goOn = async (times: number, ms: number) => {
    for (let time = 0; time < times; time++) {
      await clock.advance(ms);
      for (const { answer } of connection.sent) answer();
      await settle();
    }
  };
  return { clock, connection, heartbeat, start, warnings, goOn };
}

/** As {@link setUp}, started, with nodes whose first proof has been sent. */
async function setUpBeating(paths = ['/a'], times = TIMES) {
  const all = setUp();
  const nodes = paths.map((path) => new FakeNode(path));
  for (const each of nodes) all.heartbeat.add(each);
  all.start(times);
  await all.clock.advance(0);
  return { ...all, nodes, node: nodes[0] as FakeNode };
}

class FakeNode implements ProvenNode {
  readonly sentAts: number[] = [];
  lost = 0;
  constructor(readonly absolutePath: string) {}
  confirmed(sentAt: LeaseInstant): void {
    this.sentAts.push(msOf(sentAt));
  }
  gone(): void {
    this.lost++;
  }
  readonly refusals: Error[] = [];
  unreadable(error: Error): void {
    this.refusals.push(error);
  }
}

/** Reads of a node that is there, and what was told of their answers. */
function idleReads(path: string): [AccompanyingReads, string[]] {
  const told: string[] = [];
  const read = {
    request: existsRequest(path),
    answered: () => void told.push('answered'),
    refused: ({ code }: ZooKeeperError) => void told.push(String(code)),
  };
  return [{ nextRead: () => read }, told];
}

describe('the heartbeat', () => {
  it('proves the nodes four times a lease, counting from when it was sent', async () => {
    const { connection, node, goOn } = await setUpBeating();
    await goOn(1, 0);
    await goOn(4, 250);
    expect(connection.log).toEqual(['multi 0', 'multi 250', 'multi 500', 'multi 750', 'multi 1000']);
    expect(node.sentAts).toEqual([0, 250, 500, 750, 1000]);
    expect(connection.ends).toBe(0);
  });

  it('sends nothing but a ping, five times a session timeout, while there is nothing to prove', async () => {
    const { clock, connection, start } = setUp();
    start();
    await clock.advance(599);
    expect(connection.sent).toHaveLength(0);
    await clock.advance(1);
    expect(connection.log).toEqual(['ping 600']);
  });

  it('sends idle reads in the place of a ping, until they are removed', async () => {
    const { connection, heartbeat, start, goOn } = setUp();
    const [reads, told] = idleReads('/ahead');
    heartbeat.addIdleReads(reads);
    start();
    await goOn(2, 600);
    heartbeat.removeIdleReads(reads);
    await goOn(1, 600);
    expect(connection.log).toEqual(['exists 600', 'exists 1200', 'ping 1800']);
    expect([told, connection.ends]).toEqual([['answered', 'answered'], 0]);
  });

  it('takes an idle read that is refused for an answer: the link is alive', async () => {
    const { clock, connection, heartbeat, start } = setUp();
    const [reads, told] = idleReads('/ahead');
    heartbeat.addIdleReads(reads);
    start();
    await clock.advance(600);
    connection.sent[0]?.fail(new ZooKeeperError(-102, 'NO_AUTH', 'exists', '/ahead'));
    await clock.advance(600);
    expect(connection.log).toEqual(['exists 600', 'exists 1200']);
    expect([told, connection.ends]).toEqual([['NO_AUTH'], 0]);
  });

  it('sends a ping in the place of a read that can not be made: a server may have longer paths than a client may use', async () => {
    const { connection, heartbeat, start, goOn } = setUp();
    heartbeat.addIdleReads({
      nextRead: () => {
        throw new Error('the path is too long');
      },
    });
    start();
    await goOn(2, 600);
    expect(connection.log).toEqual(['ping 600', 'ping 1200']);
    expect(connection.ends).toBe(0);
  });

  it('gives up a connection over which an idle read is lost', async () => {
    const { clock, connection, heartbeat, start } = setUp();
    heartbeat.addIdleReads(idleReads('/ahead')[0]);
    start();
    await clock.advance(600);
    connection.sent[0]?.fail(new ConnectionLossError('the reply can not be read'));
    await settle();
    expect(connection.ends).toBe(1);
  });

  it('sends idle reads no more often while it proves nodes, which it does more often', async () => {
    const { connection, heartbeat, start, goOn } = setUp();
    heartbeat.add(new FakeNode('/own'));
    heartbeat.addIdleReads(idleReads('/ahead')[0]);
    start();
    await goOn(1, 0);
    await goOn(4, 250);
    expect(connection.log).toEqual([
      ...['multi 0', 'exists 0', 'multi 250', 'multi 500', 'exists 500'],
      ...['multi 750', 'multi 1000', 'exists 1000'],
    ]);
  });

  it('sends twenty of many idle reads at once, and all in turn', async () => {
    const { connection, heartbeat, start, goOn } = setUp();
    const seen: string[] = [];
    connection.onSend = ({ path }) => void seen.push(path as string);
    const paths = Array.from({ length: 50 }, (_, index) => `/${index}`);
    for (const path of paths) heartbeat.addIdleReads(idleReads(path)[0]);
    start();
    for (let beat = 1; beat <= 3; beat++) {
      await goOn(1, 600);
      expect(seen).toHaveLength(20 * beat);
    }
    expect(new Set(seen)).toEqual(new Set(paths));
  });

  it('begins at once with a node that is added while it was only pinging', async () => {
    const { clock, connection, heartbeat, start } = setUp();
    start();
    await clock.advance(500);
    heartbeat.add(new FakeNode('/a'));
    await clock.advance(0);
    expect(connection.log).toEqual(['multi 500']);
  });

  it.each([
    [1, 'at once', 600],
    [2, 'no sooner than others', 850],
  ])('is sent for a read that is wanted soon, with %d nodes to prove, %s', async (count, _, at) => {
    const { clock, connection, heartbeat, start, goOn } = setUp();
    start();
    await goOn(1, 600); // The session sends a ping.
    for (let number = 0; number < count; number++) heartbeat.add(new FakeNode(`/${number}`));
    heartbeat.addReads(idleReads('/record')[0], true);
    await goOn(1, 250);
    expect(connection.log.slice(1)).toEqual([`multi ${at}`, `exists ${at}`]);
    await clock.advance(250);
    expect(connection.sent[3]?.at).toBe(at + 250);
  });

  it('carries all reads in turn, however many there are, and not more than 64 at once', async () => {
    const { connection, heartbeat, start, goOn } = setUp();
    const asked = new Map<string, number>();
    connection.onSend = ({ path = '' }) => void asked.set(path, (asked.get(path) ?? 0) + 1);
    for (let number = 0; number < 100; number++) heartbeat.addReads(idleReads(`/${number}`)[0]);
    start();
    for (let beat = 1; beat <= 4; beat++) {
      await goOn(1, TIMES.leaseMs / 4);
      expect(connection.sent).toHaveLength(64 * beat);
    }
    expect([asked.size, ...new Set([...asked.values()].sort())]).toEqual([100, 2, 3]);
  });

  it('does not call a link dead whose reply came while this process was stopped', async () => {
    const { clock, connection } = await setUpBeating();
    clock.jump(5000);
    await clock.advance(0); // Due timers run before the process reads anything.
    connection.sent[0]?.answer();
    await clock.advance(200);
    expect(connection.ends).toBe(0);
  });

  it('never overlaps with itself: a late reply is waited for, also when a node is added meanwhile', async () => {
    const { clock, connection, heartbeat } = await setUpBeating();
    await clock.advance(300);
    heartbeat.add(new FakeNode('/b'));
    await clock.advance(600);
    expect(connection.log).toEqual(['multi 0']);
    connection.sent[0]?.answer();
    await clock.advance(0);
    expect(connection.log).toEqual(['multi 0', 'multi 900']);
  });

  it('has nothing to do with what an earlier connection still reports', async () => {
    const { clock, connection, heartbeat } = await setUpBeating();
    heartbeat.stop();
    const next = new FakeConnection(clock);
    heartbeat.start(next as unknown as Connection, TIMES);
    await clock.advance(0);
    connection.sent[0]?.fail(new ConnectionLossError('gone'));
    await clock.advance(900);
    expect([connection.ends, next.ends, next.sent.length]).toEqual([0, 0, 1]);
  });

  it('sends nothing before it is started, and after it was stopped', async () => {
    const { clock, connection, heartbeat, start } = setUp();
    heartbeat.stop();
    heartbeat.add(new FakeNode('/a'));
    expect(clock.timerCount).toBe(0);
    start();
    heartbeat.stop();
    heartbeat.add(new FakeNode('/b'));
    await clock.advance(10_000);
    expect(clock.timerCount).toBe(0);
    expect(connection.sent).toEqual([]);
  });

  it('keeps a connection whose replies come later than a short lease lasts', async () => {
    const { clock, connection, node, goOn } = await setUpBeating(['/a'], SHORT_LEASE);
    await goOn(3, 1999);
    await clock.advance(0);
    expect(connection.log).toEqual(['multi 0', 'multi 1999', 'multi 3998', 'multi 5997']);
    expect(node.sentAts).toEqual([0, 1999, 3998]);
    expect(connection.ends).toBe(0);
  });

  it('ends a connection over which no reply comes within a third of the session timeout', async () => {
    const { clock, connection } = await setUpBeating();
    await clock.advance(999);
    expect(connection.destroyed).toBeUndefined();
    await clock.advance(1);
    expect(connection.destroyed?.message).toContain('1000 ms');
  });

  it('finds a dead link soon enough to find another server within the session, whatever the lease', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 10, max: 100_000 }),
        fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        (sessionTimeoutMs, share) => {
          const times = { sessionTimeoutMs, leaseMs: sessionTimeoutMs * share };
          for (const nodes of [0, 1]) {
            expect(heartbeatIntervalMs(nodes, times) + replyWithinMs(times)).toBeLessThan(
              (8 / 15) * sessionTimeoutMs * (1 + 1e-9),
            );
          }
          expect(heartbeatIntervalMs(1, times)).toBeLessThanOrEqual(times.leaseMs / 4);
        },
      ),
    );
  });

  it('warns once of a lease that replies can not keep, also with further connections', async () => {
    const { clock, connection, heartbeat, start, warnings } = setUp();
    heartbeat.add(new FakeNode('/a'));
    for (let connected = 1; connected <= 2; connected++) {
      start(SHORT_LEASE);
      await clock.advance(0);
      for (let beat = 1; beat <= 4; beat++) {
        expect(warnings).toHaveLength(connected === 1 && beat <= 3 ? 0 : 1);
        await clock.advance(200);
        connection.sent.at(-1)?.answer();
        await clock.advance(0);
      }
      heartbeat.stop();
    }
    expect(warnings).toEqual([{ leaseMs: 300, replyMs: 200 }]);
  });

  it('warns of no late replies while there is no node to prove: no lease depends on them', async () => {
    const { connection, start, warnings, goOn } = setUp();
    start(SHORT_LEASE);
    await goOn(5, 1200);
    expect(connection.sent).toHaveLength(5);
    expect(warnings).toEqual([]);
  });

  const noAuth = new ZooKeeperError(-102, 'NO_AUTH', 'multi[check]', '/b');
  it.each([
    ['is gone', new NoNodeError(-101, 'NO_NODE', 'multi[check]', '/b'), { lost: 1, refusals: [] }],
    ['may not be read any more', noAuth, { lost: 0, refusals: [noAuth] }],
  ])('tells a node that it %s, and proves the others in the same beat', async (_, refusal, told) => {
    const { connection, nodes, goOn } = await setUpBeating(['/a', '/b', '/c']);
    connection.sent[0]?.fail(new TransactionError(1, refusal));
    await goOn(1, 0);
    const proven = { sentAts: [0], lost: 0, refusals: [] };
    expect(nodes).toMatchObject([proven, { sentAts: [], ...told }, proven]);
    expect(connection.ends).toBe(0);
  });

  it.each([
    new TransactionError(0, new ZooKeeperError(-1, 'SYSTEM_ERROR', 'multi[check]', '/a')),
    new ZooKeeperError(-125, 'QUOTA_EXCEEDED', 'multi'),
  ])('gives up a connection that answers with anything it does not expect: %s', async (error) => {
    const { connection, node } = await setUpBeating();
    connection.sent[0]?.fail(error);
    await settle();
    expect(node.refusals).toEqual([]);
    expect(connection.ends).toBe(1);
  });

  it('asks no more when the only node is gone, or the others were taken off meanwhile', async () => {
    const { clock, connection, heartbeat, nodes } = await setUpBeating(['/a', '/b']);
    heartbeat.remove(nodes[1] as FakeNode);
    connection.sent[0]?.fail(new TransactionError(0, new NoNodeError(-101, 'NO_NODE', 'multi[check]', '/a')));
    await clock.advance(599);
    expect(connection.sent).toHaveLength(1);
    expect(nodes.map(({ lost }) => lost)).toEqual([1, 0]);
    await clock.advance(1);
    expect(connection.log).toEqual(['multi 0', 'ping 600']);
    expect(connection.ends).toBe(0);
  });

  it('neither confirms nor loses a node that was removed while the reply was on its way', async () => {
    const { connection, heartbeat, node } = await setUpBeating();
    heartbeat.remove(node);
    connection.sent[0]?.answer();
    await settle();
    expect(node).toMatchObject({ sentAts: [], lost: 0 });
  });

  it('leaves no timer when it is stopped', async () => {
    const { clock, connection, heartbeat } = await setUpBeating();
    connection.sent[0]?.answer();
    await settle();
    heartbeat.stop();
    expect(clock.timerCount).toBe(0);
  });
});

const LEASE_MS = 300;

/** The warnings for heartbeats whose replies take these times. */
function warningsOf(...tookMs: number[]): object[] {
  const warnings: object[] = [];
  const lateReplies = new LateReplies({ ...SILENT, warn: (details) => void warnings.push(details) });
  for (const each of tookMs) lateReplies.note(each, LEASE_MS);
  return warnings;
}

it('warns of a lease that replies can not keep: three in a row took longer than half of it', () => {
  expect(warningsOf(151, 180)).toEqual([]);
  expect(warningsOf(151, 180, 202.4)).toEqual([{ leaseMs: 300, replyMs: 202 }]);
});

it('warns once in the life of a session', () => {
  expect(warningsOf(200, 200, 200, 200, 200, 1, 200, 200, 200)).toHaveLength(1);
});

it('warns of nothing while replies come late now and then', () => {
  expect(warningsOf(2000, 1, 200, 200, 150, 200, 200, 1, 2000)).toEqual([]);
});

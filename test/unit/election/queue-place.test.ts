import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LeaderElectorOptions } from '../../../src/election/elector-options.js';
import { LeaderElector } from '../../../src/election/leader-elector.js';
import { parseRecord } from '../../../src/election/record/election-record.js';
import { revokeLeader } from '../../../src/election/revoke-leader.js';
import type { Term } from '../../../src/election/term/term.js';
import type { DemotionReason } from '../../../src/errors.js';
import { takeoverDelayMs } from '../../../src/lease/failure-detector.js';
import { heartbeatPathOf } from '../../../src/queue/names-and-order.js';
import type { SessionOptions } from '../../../src/session/session-options.js';
import { nextEvent } from '../../support/events.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../../support/silent-logger.mjs';

const PATH = '/election';
const LEASE_MS = 2000;
const SESSION_TIMEOUT_MS = 10_000; // No takeover here waits for the end of a session, unless the test says so.
const DELAY_MS = takeoverDelayMs(LEASE_MS);
const POLL_MS = LEASE_MS / 4;

/** A candidate with a session of its own. */
interface Candidate {
  readonly elector: LeaderElector;
  /** The path of its node. */
  readonly node: string;
  silence(): void;
  /** Lets the servers hear from it again. */
  heal(): void;
}

async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const join = async (
    options: LeaderElectorOptions = {},
    session: SessionOptions = {},
  ): Promise<Candidate> => {
    const times = { sessionTimeoutMs: SESSION_TIMEOUT_MS, leaseMs: LEASE_MS };
    const elector = new LeaderElector(await open({ ...times, ...session }), PATH, options);
    onTestFinished(async () => {
      server.clearFaults();
      server.heal();
      for (const each of server.sessions()) each.heal();
      await clock.advanceUntil(elector.stop());
    });
    const before = new Set(server.paths(PATH));
    await clock.advanceUntil(elector.start());
    const node = server.paths(PATH).find((path) => path.includes('-lock-') && !before.has(path)) as string;
    const atServer = server.sessionOf(node);
    return { elector, node, silence: () => atServer?.partition(), heal: () => atServer?.heal() };
  };
  const leading = async ({ elector }: Candidate): Promise<Term> => {
    await clock.advanceUntil(() => elector.term);
    return elector.term as Term;
  };
  /** Measures how long the candidate takes until it leads. */
  const untilLeading = async (candidate: Candidate) => {
    const beganAt = clock.now();
    const term = await leading(candidate);
    return { term, tookMs: clock.now() - beganAt };
  };
  const record = () => parseRecord(server.data(PATH) as Buffer, 1);
  return { clock, server, open, join, leading, untilLeading, record };
}

describe('a leader that is silent for longer than its lease', () => {
  it('is replaced by the next in line, with a token of its own, when the lease is surely over', async () => {
    const { clock, server, join, leading, untilLeading, record } = await setUp();
    const [first, next] = [await join(), await join()];
    const former = await leading(first);
    await clock.advance(10_000);
    const demoted = nextEvent<[Term, DemotionReason]>(first.elector, 'demoted');
    first.silence();
    const { term, tookMs } = await untilLeading(next);
    expect(tookMs).toBeGreaterThan(DELAY_MS - POLL_MS - 10);
    expect(tookMs).toBeLessThan(DELAY_MS + POLL_MS + 10);
    expect([term.number, term.token > former.token]).toEqual([2, true]);
    expect(former.isHeld()).toBe(false);
    expect(record()).toMatchObject({ state: 'held', term: 2, node: next.node.slice(10) });
    expect(server.paths(PATH)).not.toContain(first.node);
    expect(server.paths(PATH)).not.toContain(heartbeatPathOf(first.node));
    expect((await clock.advanceUntil(demoted))[1]).toBe('lease-expired');
  });

  it('joins again at the end of the queue when it is heard of again: its session lives', async () => {
    const { clock, server, join, leading } = await setUp();
    const [first, next] = [await join(), await join()];
    await leading(first);
    await clock.advance(10_000);
    const session = server.sessionOf(first.node);
    session?.partition();
    await leading(next);
    session?.heal();
    await clock.advanceUntil(() => first.elector.state.name === 'waiting');
    expect(first.elector.session.state.name).toBe('connected');
    expect(session?.isAlive).toBe(true);
  });

  it('is replaced later where takeoverDelayMs is longer', async () => {
    const { clock, join, leading, untilLeading } = await setUp();
    const [first, next] = [await join(), await join({ takeoverDelayMs: 7000 })];
    await leading(first);
    await clock.advance(10_000);
    first.silence();
    const { tookMs } = await untilLeading(next);
    expect(tookMs).toBeGreaterThan(7000 - POLL_MS - 10);
    expect(tookMs).toBeLessThan(7000 + POLL_MS + 10);
  });

  it('is replaced as soon while other clients ask it to step down', async () => {
    const { clock, open, join, leading, untilLeading } = await setUp();
    const [first, next] = [await join(), await join()];
    await leading(first);
    await clock.advance(10_000);
    const other = await open();
    first.silence();
    const timer = clock.environment.clock;
    const revoke = () => {
      void revokeLeader(other, PATH, { graceMs: 10_000 }).catch(() => undefined);
      if (next.elector.term === undefined) timer.after(100, revoke);
    };
    revoke();
    const { tookMs } = await untilLeading(next);
    expect(tookMs).toBeLessThan(DELAY_MS + POLL_MS + 10);
  });

  it('is replaced by the third in line, a delay later, if the next one is silent too', async () => {
    const { clock, join, leading, untilLeading } = await setUp();
    const [first, second, third] = [await join(), await join(), await join()];
    await leading(first);
    await clock.advance(10_000);
    first.silence();
    second.silence();
    const { tookMs } = await untilLeading(third);
    expect(tookMs).toBeGreaterThan(2 * DELAY_MS - POLL_MS - 10);
    expect(tookMs).toBeLessThan(2 * DELAY_MS + 2 * POLL_MS + 10);
  });

  it('is replaced by the third in line also if that was further behind when it joined', async () => {
    const { clock, join, leading, untilLeading } = await setUp();
    const first = await join();
    await leading(first);
    const [second, third, fourth] = [await join(), await join(), await join()];
    await clock.advanceUntil(first.elector.resign());
    await leading(second);
    await clock.advance(60_000); // The fourth asks only now and then whether it has become the third.
    second.silence();
    third.silence();
    expect((await untilLeading(fourth)).tookMs).toBeLessThan(2 * DELAY_MS + 2 * POLL_MS + 10);
  });

  it('is replaced by the candidate with the highest priority', async () => {
    const { clock, join, leading, untilLeading } = await setUp();
    const [first, next] = [await join(), await join()];
    await leading(first);
    const preferred = await join({ priority: 7 });
    await clock.advance(30_000); // Its term has lasted: otherwise a candidate that joined in it is passed over.
    first.silence();
    const { tookMs } = await untilLeading(preferred);
    expect(tookMs).toBeLessThan(DELAY_MS + POLL_MS + 50);
    expect(next.elector.state.name).toBe('waiting');
  });

  it('is replaced by that one also if it was heard once more before it died, so that the first takeover was refused', async () => {
    const { clock, server, open, join, leading } = await setUp();
    const [first, next, operator] = [await join(), await join(), await open()];
    await leading(first);
    const preferred = await join({ priority: 7 });
    await clock.advance(60_000);
    first.silence();
    const { session } = next.elector;
    const list = session.listChildren.bind(session);
    const lookForPreferred = vi.spyOn(session, 'listChildren').mockImplementationOnce(async (path) => {
      await operator.setData(first.node.replace(/_c_(.*)-lock-.*/, '_h_$1'), Buffer.alloc(0));
      return await list(path);
    });
    await clock.advanceUntil(() => lookForPreferred.mock.calls.length === 1);
    server.expireSession((each) => each.id === server.sessionOf(first.node)?.id);
    await leading(preferred);
    expect(next.elector.state.name).toBe('waiting');
  });

  it('is replaced also if it was nominated, and the first in the queue waits for it', async () => {
    const { clock, join, leading, untilLeading } = await setUp();
    const first = await join();
    await leading(first);
    const [second, third] = [await join(), await join({ id: 'third' })];
    await clock.advanceUntil(first.elector.handOver('third'));
    await leading(third);
    await clock.advance(10_000);
    third.silence();
    expect((await untilLeading(second)).tookMs).toBeLessThan(DELAY_MS + POLL_MS + 10);
  });

  it('is replaced also if it waited for long after the end of a leader without a release', async () => {
    const { clock, join, leading, untilLeading } = await setUp();
    const first = await join();
    // While the second waits, the third sees that it is the next in line, and that the record still names the first.
    const [second, third] = [await join({ takeoverDelayMs: SESSION_TIMEOUT_MS }), await join()];
    await leading(first);
    await clock.advance(10_000);
    await clock.advanceUntil(first.elector.session.close());
    await leading(second);
    await clock.advance(10_000);
    second.silence();
    expect((await untilLeading(third)).tookMs).toBeLessThan(DELAY_MS + POLL_MS + 10);
  });

  it('is not its own successor, though it has the highest priority', async () => {
    const { clock, join, leading, untilLeading } = await setUp();
    const first = await join();
    await leading(first);
    const [plain, high, middle] = [await join(), await join({ priority: 7 }), await join({ priority: 5 })];
    await clock.advanceUntil(first.elector.stop());
    await leading(high);
    await clock.advance(10_000);
    high.silence();
    expect((await untilLeading(middle)).term.number).toBe(3);
    expect(plain.elector.state.name).toBe('waiting');
  });

  it('is followed by the candidate that it nominated, also when a takeover by that one was refused', async () => {
    const { clock, server, join, leading } = await setUp();
    let settle: () => void = () => undefined;
    const work = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const first = await join({ lead: () => work });
    await leading(first);
    const [second, third] = [await join(), await join({ id: 'third' })];
    await clock.advance(10_000);
    const handedOver = first.elector.handOver('third');
    await clock.advance(100);
    const refusal = server.failWith('BAD_VERSION', { operation: 'multi', path: heartbeatPathOf(first.node) });
    first.silence();
    await clock.advance(2 * DELAY_MS + 4 * POLL_MS);
    expect(refusal.hits).toBeGreaterThan(1); // The servers refuse the claims of the next two in line.
    refusal.clear();
    first.heal();
    await clock.advance(3000);
    settle();
    expect((await leading(third)).number).toBe(2);
    expect(second.elector.state.name).toBe('waiting');
    await clock.advanceUntil(handedOver);
  });

  it('is waited for until its session has ended where the servers do not let others delete it', async () => {
    const { clock, server, join, leading, untilLeading } = await setUp();
    const [first, next] = [await join(), await join()];
    await leading(first);
    await clock.advance(10_000);
    first.silence();
    const fault = server.failWith('NO_AUTH', { operation: 'multi', path: heartbeatPathOf(first.node) });
    await clock.advance(2 * DELAY_MS);
    expect([fault.hits > 0, next.elector.state.name]).toEqual([true, 'waiting']);
    fault.clear();
    expect((await untilLeading(next)).tookMs).toBeGreaterThan(SESSION_TIMEOUT_MS - 3 * DELAY_MS);
  });
});

describe('a leader that is heard of', () => {
  it('is replaced when its lease is over if its replies come too late: it leads on by no lease', async () => {
    const { clock, server, join, leading, untilLeading } = await setUp();
    const [first, next] = [await join(), await join()];
    const former = await leading(first);
    await clock.advance(10_000);
    const demoted = nextEvent<[Term, DemotionReason]>(first.elector, 'demoted');
    const session = server.sessionOf(first.node);
    server.delay(LEASE_MS + POLL_MS, { only: 'multi', path: heartbeatPathOf(first.node) });
    first.elector.once('demoted', () => server.clearFaults());
    const { term } = await untilLeading(next);
    expect((await demoted)[1]).toBe('lease-expired');
    expect([former.isHeld(), term.number]).toEqual([false, 2]);
    expect(session?.isAlive).toBe(true);
  });

  it('is not replaced however long it leads, also by leases of 300 ms', async () => {
    const { clock, join, leading } = await setUp();
    const short = { leaseMs: 300 };
    const [first, next] = [await join({}, short), await join({}, short)];
    const term = await leading(first);
    await clock.advance(60_000);
    expect([term.isHeld(), next.elector.state.name]).toEqual([true, 'waiting']);
  });

  it('loses its place when its heartbeat node is deleted, and never makes that again', async () => {
    const { clock, server, open, join, leading } = await setUp();
    const first = await join();
    await leading(first);
    const demoted = nextEvent<[Term, DemotionReason]>(first.elector, 'demoted');
    await clock.advanceUntil((await open()).remove(heartbeatPathOf(first.node)));
    expect((await clock.advanceUntil(demoted))[1]).toBe('node-deleted');
    await clock.advanceUntil(() => first.elector.term);
    expect(server.paths(PATH)).not.toContain(first.node);
    expect(server.paths(PATH)).not.toContain(heartbeatPathOf(first.node));
  });

  it('says so when it was superseded before it had looked at the clock', async () => {
    const { clock, server, open, join, leading } = await setUp();
    const first = await join();
    await leading(first);
    const demoted = nextEvent<[Term, DemotionReason]>(first.elector, 'demoted');
    // Does what another candidate's claim would do. A real claim can't do it here, because both candidates use the same clock.
    const other = await open();
    const paths = [heartbeatPathOf(first.node), first.node];
    const deletions = paths.map((path) => ({ kind: 'delete', path }) as const);
    const data = server.data(PATH) as Buffer;
    await clock.advanceUntil(other.commit([...deletions, { kind: 'set', path: PATH, data }]));
    expect((await clock.advanceUntil(demoted))[1]).toBe('superseded');
  });
});

describe('a claim', () => {
  it('that is not answered leads all the same, and its heartbeats go on', async () => {
    const { clock, server, join, leading } = await setUp();
    const before = await join();
    await leading(before);
    await clock.advanceUntil(before.elector.stop());
    const fault = server.swallowReply('multi', { path: PATH });
    const first = await join();
    const term = await leading(first);
    expect([term.number, fault.hits]).toEqual([2, 1]);
    await clock.advance(3 * LEASE_MS);
    expect(term.isHeld()).toBe(true);
    expect(server.paths(PATH)).toContain(heartbeatPathOf(first.node));
  });

  it.each([0, 20])('that is not answered keeps its place, where replies take %i ms', async (replyMs) => {
    const { clock, server, join, leading } = await setUp();
    const [first, next] = [await join(), await join()];
    await leading(first);
    await clock.advance(10_000);
    server.delay(replyMs, { only: 'multi' });
    server.swallowReply('multi', { path: PATH, times: 2 }); // The release, and the claim after it.
    await clock.advanceUntil(first.elector.stop());
    expect((await leading(next)).number).toBe(2);
    expect(server.paths(PATH)).toContain(next.node);
  });

  it('that the servers refuse is reported, is not sent again at once over the same record, and is as soon as a newer one is read', async () => {
    const { clock, server, join, leading, open } = await setUp();
    const former = await join();
    await leading(former);
    await clock.advanceUntil(former.elector.stop());
    const times = { sessionTimeoutMs: SESSION_TIMEOUT_MS, leaseMs: LEASE_MS };
    const warnings: string[] = [];
    const logger = { ...SILENT, warn: (_: object, message: string) => void warnings.push(message) };
    const session = await clock.advanceUntil(open({ ...times, logger }));
    const old = await clock.advanceUntil(session.getData(PATH));
    const writer = await clock.advanceUntil(open());
    await clock.advanceUntil(writer.setData(PATH, old.data));
    vi.spyOn(session, 'getData').mockResolvedValue(old);
    const elector = new LeaderElector(session, PATH);
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    server.resetCounts();
    await clock.advanceUntil(elector.start());
    await clock.advance(POLL_MS - 10);
    const claims = server.requests.filter(
      ({ operation, paths }) => operation === 'multi' && paths.includes(PATH),
    );
    expect(claims).toHaveLength(1); // A server that has lost writes goes on showing the record that the others refuse.
    const refusals = warnings.filter((message) => message.startsWith('the other servers refuse a claim'));
    expect(refusals).toHaveLength(1);
    await clock.advance(20); // The read that goes out with the next heartbeat is another method.
    expect(elector.isLeader).toBe(true);
  });
});

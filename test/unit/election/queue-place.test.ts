import { describe, expect, it, vi } from 'vitest';
import type { LeaderElector } from '../../../src/election/leader-elector.js';
import { revokeLeader } from '../../../src/election/revoke-leader.js';
import type { Term } from '../../../src/election/term/term.js';
import type { DemotionReason } from '../../../src/errors.js';
import { takeoverDelayMs } from '../../../src/lease/failure-detector.js';
import { heartbeatPathOf } from '../../../src/queue/names-and-order.js';
import { startElection } from '../../support/conclave/elections-in-test-time.js';
import { nextEvent } from '../../support/events.js';
import { loggerOfWarnings } from '../../support/recording-logger.js';

const PATH = '/election';
const LEASE_MS = 2000;
const SESSION_TIMEOUT_MS = 10_000; // No takeover here waits for the end of a session, unless the test says so.
const DELAY_MS = takeoverDelayMs(LEASE_MS);
const POLL_MS = LEASE_MS / 4;

async function setUp() {
  const election = await startElection(PATH, { sessionTimeoutMs: SESSION_TIMEOUT_MS, leaseMs: LEASE_MS });
  const { clock } = election;
  /** Measures how long the candidate takes until it leads. */
  const untilLeading = async (candidate: LeaderElector) => {
    const beganAt = clock.now();
    const term = await election.leads(candidate);
    return { term, tookMs: clock.now() - beganAt };
  };
  const silence = (candidate: LeaderElector) => election.atServer(candidate).partition();
  return { ...election, untilLeading, silence };
}

describe('a leader that is silent for longer than its lease', () => {
  it('is replaced by the next in line, with a token of its own, when the lease is surely over', async () => {
    const { clock, server, join, leads, untilLeading, record, nodeOf, pathOf, silence } = await setUp();
    const [first, next] = [await join('first'), await join('next')];
    const former = await leads(first);
    const path = pathOf(first);
    await clock.advance(10_000);
    const demoted = nextEvent<[Term, DemotionReason]>(first, 'demoted');
    silence(first);
    const { term, tookMs } = await untilLeading(next);
    expect(tookMs).toBeGreaterThan(DELAY_MS - POLL_MS - 10);
    expect(tookMs).toBeLessThan(DELAY_MS + POLL_MS + 10);
    expect([term.number, term.token > former.token]).toEqual([2, true]);
    expect(former.isHeld()).toBe(false);
    expect(record()).toMatchObject({ state: 'held', term: 2, node: nodeOf(next) });
    expect(server.paths(PATH)).not.toContain(path);
    expect(server.paths(PATH)).not.toContain(heartbeatPathOf(path));
    expect((await clock.advanceUntil(demoted))[1]).toBe('lease-expired');
  });

  it('is replaced later where takeoverDelayMs is longer', async () => {
    const { clock, lead, join, untilLeading, silence } = await setUp();
    const [first, next] = [await lead('first'), await join('next', { takeoverDelayMs: 7000 })];
    await clock.advance(10_000);
    silence(first);
    const { tookMs } = await untilLeading(next);
    expect(tookMs).toBeGreaterThan(7000 - POLL_MS - 10);
    expect(tookMs).toBeLessThan(7000 + POLL_MS + 10);
  });

  it('is replaced as soon while other clients ask it to step down', async () => {
    const { clock, lead, open, join, untilLeading, silence } = await setUp();
    const [first, next] = [await lead('first'), await join('next')];
    await clock.advance(10_000);
    const other = await open();
    silence(first);
    const timer = clock.environment.clock;
    const revoke = () => {
      void revokeLeader(other, PATH, { graceMs: 10_000 }).catch(() => undefined);
      if (next.term === undefined) timer.after(100, revoke);
    };
    revoke();
    const { tookMs } = await untilLeading(next);
    expect(tookMs).toBeLessThan(DELAY_MS + POLL_MS + 10);
  });

  it('is replaced by the third in line a delay later, if the next one is silent too, also if it was further behind when it joined', async () => {
    const { clock, lead, join, leads, untilLeading, silence } = await setUp();
    const first = await lead('first');
    const [second, third, fourth] = [await join('second'), await join('third'), await join('fourth')];
    await clock.advanceUntil(first.resign());
    await leads(second);
    await clock.advance(60_000); // The fourth asks only now and then whether it has become the third.
    silence(second);
    silence(third);
    const { tookMs } = await untilLeading(fourth);
    expect(tookMs).toBeGreaterThan(2 * DELAY_MS - POLL_MS - 10);
    expect(tookMs).toBeLessThan(2 * DELAY_MS + 2 * POLL_MS + 10);
  });

  it('is replaced by the candidate with the highest priority also if it was heard once more before it died, so that the first takeover was refused', async () => {
    const { clock, lead, open, join, leads, pathOf, atServer, silence } = await setUp();
    const [first, next, operator] = [await lead('first'), await join('next'), await open()];
    const preferred = await join('preferred', { priority: 7 });
    await clock.advance(60_000);
    silence(first);
    const { session } = next;
    const list = session.listChildren.bind(session);
    const lookForPreferred = vi.spyOn(session, 'listChildren').mockImplementationOnce(async (path) => {
      await operator.setData(heartbeatPathOf(pathOf(first)), Buffer.alloc(0));
      return await list(path);
    });
    await clock.advanceUntil(() => lookForPreferred.mock.calls.length === 1);
    atServer(first).expire();
    await leads(preferred);
    expect(next.state.name).toBe('waiting');
  });

  it('is replaced also if it was nominated, and the first in the queue waits for it', async () => {
    const { clock, lead, join, leads, untilLeading, silence } = await setUp();
    const first = await lead('first');
    const [second, third] = [await join('second'), await join('third')];
    await clock.advanceUntil(first.handOver('third'));
    await leads(third);
    await clock.advance(10_000);
    silence(third);
    expect((await untilLeading(second)).tookMs).toBeLessThan(DELAY_MS + POLL_MS + 10);
  });

  it('is replaced also if it waited for long after the end of a leader without a release', async () => {
    const { clock, join, leads, untilLeading, silence } = await setUp();
    const first = await join('first');
    // While the second waits, the third sees that it is the next in line, and that the record still names the first.
    const [second, third] = [
      await join('second', { takeoverDelayMs: SESSION_TIMEOUT_MS }),
      await join('third'),
    ];
    await leads(first);
    await clock.advance(10_000);
    await clock.advanceUntil(first.session.close());
    await leads(second);
    await clock.advance(10_000);
    silence(second);
    expect((await untilLeading(third)).tookMs).toBeLessThan(DELAY_MS + POLL_MS + 10);
  });

  it('is replaced by the candidate with the next highest priority, and is not its own successor', async () => {
    const { clock, lead, join, leads, untilLeading, silence } = await setUp();
    const first = await lead('first');
    const [plain, high, middle] = [
      await join('plain'),
      await join('high', { priority: 7 }),
      await join('middle', { priority: 5 }),
    ];
    await clock.advanceUntil(first.stop());
    await leads(high);
    await clock.advance(10_000);
    silence(high);
    const { term, tookMs } = await untilLeading(middle);
    expect(term.number).toBe(3);
    expect(tookMs).toBeLessThan(DELAY_MS + POLL_MS + 50);
    expect(plain.state.name).toBe('waiting');
  });

  it('is followed by the candidate that it nominated, also when a takeover by that one was refused', async () => {
    const { clock, lead, server, join, leads, pathOf, atServer, silence } = await setUp();
    let settle: () => void = () => undefined;
    const work = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const first = await lead('first', { lead: () => work });
    const [second, third] = [await join('second'), await join('third')];
    await clock.advance(10_000);
    const handedOver = first.handOver('third');
    await clock.advance(100);
    const refusal = server.failWith('BAD_VERSION', {
      operation: 'multi',
      path: heartbeatPathOf(pathOf(first)),
    });
    silence(first);
    await clock.advance(2 * DELAY_MS + 4 * POLL_MS);
    expect(refusal.hits).toBeGreaterThan(1); // The servers refuse the claims of the next two in line.
    refusal.clear();
    atServer(first).heal();
    await clock.advance(3000);
    settle();
    expect((await leads(third)).number).toBe(2);
    expect(second.state.name).toBe('waiting');
    await clock.advanceUntil(handedOver);
  });

  it('is waited for until its session has ended where the servers do not let others delete it', async () => {
    const { clock, lead, server, join, untilLeading, pathOf, silence } = await setUp();
    const [first, next] = [await lead('first'), await join('next')];
    await clock.advance(10_000);
    silence(first);
    const fault = server.failWith('NO_AUTH', { operation: 'multi', path: heartbeatPathOf(pathOf(first)) });
    await clock.advance(2 * DELAY_MS);
    expect([fault.hits > 0, next.state.name]).toEqual([true, 'waiting']);
    fault.clear();
    expect((await untilLeading(next)).tookMs).toBeGreaterThan(SESSION_TIMEOUT_MS - 3 * DELAY_MS);
  });
});

describe('a leader that is heard of', () => {
  it('is replaced when its lease is over if its replies come too late: it leads on by no lease', async () => {
    const { clock, server, join, leads, untilLeading, pathOf, atServer } = await setUp();
    const [first, next] = [await join('first'), await join('next')];
    const former = await leads(first);
    await clock.advance(10_000);
    const demoted = nextEvent<[Term, DemotionReason]>(first, 'demoted');
    const session = atServer(first);
    server.delay(LEASE_MS + POLL_MS, { only: 'multi', path: heartbeatPathOf(pathOf(first)) });
    first.once('demoted', () => server.clearFaults());
    const { term } = await untilLeading(next);
    expect((await demoted)[1]).toBe('lease-expired');
    expect([former.isHeld(), term.number]).toEqual([false, 2]);
    expect(session.isAlive).toBe(true);
  });

  it('is not replaced however long it leads, also by leases of 300 ms', async () => {
    const { clock, join, leads } = await setUp();
    const short = { leaseMs: 300 };
    const [first, next] = [await join('first', {}, short), await join('next', {}, short)];
    const term = await leads(first);
    await clock.advance(60_000);
    expect([term.isHeld(), next.state.name]).toEqual([true, 'waiting']);
  });

  it('loses its place when its heartbeat node is deleted, and never makes that again', async () => {
    const { clock, lead, server, open, pathOf } = await setUp();
    const first = await lead('first');
    const path = pathOf(first);
    const demoted = nextEvent<[Term, DemotionReason]>(first, 'demoted');
    await clock.advanceUntil((await open()).remove(heartbeatPathOf(path)));
    expect((await clock.advanceUntil(demoted))[1]).toBe('node-deleted');
    await clock.advanceUntil(() => first.term);
    expect(server.paths(PATH)).not.toContain(path);
    expect(server.paths(PATH)).not.toContain(heartbeatPathOf(path));
  });
});

describe('a claim', () => {
  it.each([0, 20])('that is not answered keeps its place, where replies take %i ms', async (replyMs) => {
    const { clock, lead, server, join, leads, pathOf } = await setUp();
    const [first, next] = [await lead('first'), await join('next')];
    await clock.advance(10_000);
    server.delay(replyMs, { only: 'multi' });
    server.swallowReply('multi', { path: PATH, times: 2 }); // The release, and the claim after it.
    await clock.advanceUntil(first.stop());
    expect((await leads(next)).number).toBe(2);
    expect(server.paths(PATH)).toContain(pathOf(next));
  });

  it('that the servers refuse is reported, is not sent again at once over the same record, and is as soon as a newer one is read', async () => {
    const { clock, server, make, lead, open } = await setUp();
    const former = await lead('former');
    await clock.advanceUntil(former.stop());
    const { warnings, logger } = loggerOfWarnings();
    const elector = await make('late', {}, { logger });
    const { session } = elector;
    const old = await clock.advanceUntil(session.getData(PATH));
    const writer = await open();
    await clock.advanceUntil(writer.setData(PATH, old.data));
    vi.spyOn(session, 'getData').mockResolvedValue(old);
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

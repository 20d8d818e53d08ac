import { describe, expect, it, onTestFinished } from 'vitest';
import { LeaderElector } from '../../../../src/election/elector.js';
import type { LeaderElectorOptions } from '../../../../src/election/elector-options.js';
import { serializeRecord } from '../../../../src/election/nodes/record.js';
import { signalNodeOf } from '../../../../src/election/nodes/signal-node.js';
import { HandoverSignal } from '../../../../src/election/successor/handover-signal.js';
import type { HeldRecord } from '../../../../src/election/takeover/lease-observation.js';
import type { Claim } from '../../../../src/election/term/claim.js';
import type { Term } from '../../../../src/election/term/term.js';
import type { DemotionReason } from '../../../../src/errors.js';
import type { Contender } from '../../../../src/lock/queue/contender.js';
import { parseEntry } from '../../../../src/lock/queue/order.js';
import { PERMISSION } from '../../../../src/session/protocol/acl.js';
import type { SessionOptions } from '../../../../src/session/session-options.js';
import { nextEvent } from '../../../support/events.mjs';
import { FakeClock, settle } from '../../../support/fake-clock.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const PATH = '/election';
const TIMES = { sessionTimeoutMs: 6000, leaseMs: 2000 };
const A_WHILE_MS = 2 * TIMES.sessionTimeoutMs;

/** Starts candidates with sessions of their own, and records the requests of these sessions until the candidates lead. */
async function setUp(sessionOptions: SessionOptions = {}) {
  const { clock, server, open } = await startWithTestClock();
  const join = async (id: string, options: LeaderElectorOptions = {}) => {
    const elector = new LeaderElector(await open({ ...TIMES, ...sessionOptions }), PATH, { ...options, id });
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    await clock.advanceUntil(elector.start());
    return elector;
  };
  const leading = async (elector: LeaderElector) => {
    await clock.advanceUntil(() => elector.term);
    return elector.term as Term;
  };
  /** The requests of an elector from now on, until it is elected. */
  const asked = (elector: LeaderElector) => {
    const { id } = elector.session.credentials;
    const all = () =>
      server.requests.filter(({ session }) => session?.id === id).map(({ operation }) => operation);
    server.resetCounts();
    let before: string[] | undefined;
    elector.once('elected', () => {
      before = all();
    });
    return { before: () => before, all };
  };
  const nodeOf = async (elector: LeaderElector) => {
    const candidates = await clock.advanceUntil(elector.candidates());
    return candidates.find(({ id }) => id === elector.id)?.node as string;
  };
  const recordZxid = async (elector: LeaderElector) =>
    (await clock.advanceUntil(elector.session.exists(PATH)))?.mzxid as bigint;
  return { clock, server, open, join, leading, asked, nodeOf, recordZxid };
}

describe('the next in line that has waited for a while', () => {
  it('leads at the leader’s signal without any request, and reads the record behind that', async () => {
    const { clock, join, leading, asked, recordZxid } = await setUp();
    const [leader, next] = [await join('leader'), await join('next')];
    const former = await leading(leader);
    await clock.advance(A_WHILE_MS);
    const requests = asked(next);
    await clock.advanceUntil(leader.stop());
    const term = await leading(next);
    expect(requests.before()).toEqual([]);
    await clock.advance(0);
    expect(requests.all().slice(0, 2)).toEqual(['getData', 'getChildren']);
    expect([term.number, term.isHeld()]).toEqual([2, true]);
    const handedOverAt = await recordZxid(next);
    expect(term.token > former.token && term.token < handedOverAt).toBe(true);
    await clock.advance(A_WHILE_MS);
    expect(term.isHeld()).toBe(true);
  });

  // Every fourth probe is a look at the record instead.
  it.each([0, 1, 2, 3])(
    'has waited for long enough a fifth of a session timeout after the one ahead has begun to lead, after %i probes',
    async (probes) => {
      const probedEveryMs = TIMES.sessionTimeoutMs / 5;
      const { clock, join, leading, asked } = await setUp();
      const [first, second, third, last] = [
        await join('a'),
        await join('b'),
        await join('c'),
        await join('d'),
      ];
      await leading(first);
      await clock.advance(A_WHILE_MS + 777 + probes * probedEveryMs);
      await clock.advanceUntil(first.stop());
      await leading(second);
      await clock.advanceUntil(second.stop());
      await leading(third);
      await clock.advance(probedEveryMs + 10);
      const requests = asked(last);
      await clock.advanceUntil(third.stop());
      await leading(last);
      expect(requests.before()).toEqual([]);
    },
  );

  it('has a lower token than its own successor, whichever way that one was told', async () => {
    const { clock, join, leading } = await setUp();
    const electors = [await join('a'), await join('b'), await join('c'), await join('d')];
    const tokens: bigint[] = [];
    for (const [index, elector] of electors.entries()) {
      tokens.push((await leading(elector)).token);
      if (index !== 1) await clock.advance(A_WHILE_MS); // The third in line hasn't waited for a while.
      await clock.advanceUntil(elector.stop());
    }
    expect(tokens).toEqual(tokens.toSorted((one, other) => Number(one - other)));
    expect(new Set(tokens).size).toBe(4);
  });

  it('is told by the signal of whoever leads then', async () => {
    const { clock, join, leading, asked } = await setUp();
    const [leader, next, named] = [await join('leader'), await join('next'), await join('named')];
    await leading(leader);
    await clock.advance(A_WHILE_MS);
    await clock.advanceUntil(leader.handOver('named'));
    await leading(named);
    await clock.advance(A_WHILE_MS);
    const requests = asked(next);
    await clock.advanceUntil(named.stop());
    expect((await leading(next)).number).toBe(3);
    expect(requests.before()).toEqual([]);
  });

  it('waits for the signal on its next connection, too', async () => {
    const { clock, server, join, leading, asked } = await setUp();
    const [leader, next] = [await join('leader'), await join('next')];
    await leading(leader);
    await clock.advance(A_WHILE_MS);
    server.dropConnections();
    await clock.advance(A_WHILE_MS);
    const requests = asked(next);
    await clock.advanceUntil(leader.stop());
    expect((await leading(next)).number).toBe(2);
    expect(requests.before()).toEqual([]);
  });

  it('reads the record if the connection is lost on which it waited for the signal', async () => {
    const { clock, server, join, leading, asked, nodeOf, recordZxid } = await setUp();
    const [leader, next] = [await join('leader'), await join('next')];
    await leading(leader);
    await clock.advance(A_WHILE_MS);
    const node = await nodeOf(next);
    const stopping = leader.stop();
    server.sessionOf(`${PATH}/${node}`)?.dropConnection();
    const requests = asked(next);
    await clock.advanceUntil(stopping);
    const term = await leading(next);
    expect(requests.before()).toContain('getData');
    expect([term.number, term.token]).toEqual([2, await recordZxid(next)]);
  });

  it('is told, too, where nodes are readable to those alone that created them', async () => {
    const { clock, server, join, leading, asked } = await setUp({
      auth: [{ scheme: 'digest', credentials: 'a:b' }],
      access: 'creator',
    });
    const [leader, next] = [await join('leader'), await join('next')];
    await leading(leader);
    await clock.advance(A_WHILE_MS);
    const requests = asked(next);
    await clock.advanceUntil(leader.stop());
    await leading(next);
    expect(requests.before()).toEqual([]);
    expect(server.paths(PATH).filter((path) => path.includes('_b_'))).toEqual([]);
  });

  it('keeps its session if the servers refuse the read that is to confirm the signal', async () => {
    const { clock, server, join, leading } = await setUp();
    const [leader, next] = [await join('leader'), await join('next')];
    await leading(leader);
    await clock.advance(A_WHILE_MS);
    server.failWith('NO_AUTH', { operation: 'getData', path: PATH, times: 1 });
    const demoted = nextEvent<[Term, DemotionReason]>(next, 'demoted');
    await clock.advanceUntil(leader.stop());
    const [term, reason] = await clock.advanceUntil(demoted);
    expect([term.number, reason]).toEqual([2, 'node-deleted']);
    expect(next.session.state.name).toBe('connected');
    expect((await leading(next)).number).toBe(3);
  });

  it('reads the record where everybody may create nodes, which would be signals', async () => {
    const { clock, join, leading, asked } = await setUp({
      auth: [{ scheme: 'digest', credentials: 'a:b' }],
      access: [
        { scheme: 'auth', id: '', permissions: 31 },
        { scheme: 'world', id: 'anyone', permissions: PERMISSION.create },
      ],
    });
    const [leader, next] = [await join('leader'), await join('next')];
    await leading(leader);
    await clock.advance(A_WHILE_MS);
    const requests = asked(next);
    await clock.advanceUntil(leader.stop());
    expect((await leading(next)).number).toBe(2);
    expect(requests.before()).toContain('getData');
  });

  it('takes the signal of a client that does not lead for one, and is told so at once', async () => {
    const { clock, open, join, leading, nodeOf } = await setUp();
    const [leader, next] = [await join('leader'), await join('next')];
    const held = await leading(leader);
    await clock.advance(A_WHILE_MS);
    const forger = await open(TIMES);
    const node = await nodeOf(next);
    const { version } = (await clock.advanceUntil(forger.exists(PATH))) as { version: number };
    const demoted = nextEvent<[Term, DemotionReason]>(next, 'demoted');
    const forged = `${PATH}/${signalNodeOf(node, version + 1)}`;
    await clock.advanceUntil(forger.create(forged, { mode: 'ephemeral' }));
    const [term, reason] = await clock.advanceUntil(demoted);
    expect([term.number, reason, term.isHeld()]).toEqual([2, 'superseded', false]);
    expect([leader.isLeader, held.isHeld()]).toEqual([true, true]);
  });
});

describe('the next in line that has not', () => {
  it('reads the record, and its token is the zxid of the release', async () => {
    const { clock, join, leading, asked, recordZxid } = await setUp();
    const [leader, next] = [await join('leader'), await join('next')];
    await leading(leader);
    const requests = asked(next);
    await clock.advanceUntil(leader.stop());
    const term = await leading(next);
    expect(requests.before()).toContain('getData');
    expect(term.token).toBe(await recordZxid(next));
  });

  it('has the server watch for the signal no more when the leader ends without one', async () => {
    const { clock, server, join, leading, asked } = await setUp();
    const [leader, next] = [await join('leader'), await join('next')];
    await leading(leader);
    await clock.advance(A_WHILE_MS);
    const requests = asked(next);
    await clock.advanceUntil(leader.session.close());
    await leading(next);
    expect(requests.all()).toContain('removeWatches');
    expect(server.requests.filter(({ paths }) => paths.some((path) => path.includes('_b_')))).toHaveLength(1);
  });
});

/** A candidate that waits for a leader's signal, with its knowledge at that time. */
function waiting({ beats = [12n], isHeld = true, raises = true, trusts = true } = {}) {
  const watched: { path: string; created: () => void }[] = [];
  const unwatched: string[] = [];
  const taken: Claim[] = [];
  const lost: Error[] = [];
  const read: (() => unknown)[] = [];
  const node = {
    path: '/q/own',
    raised: { zxid: beats.at(-1) },
    isHeld: () => isHeld,
    raiseOrLose: () => raises,
    renew: async () => undefined,
    lose: (error: Error) => void lost.push(error),
  };
  const session = {
    clock: new FakeClock(),
    connectionNumber: 1,
    leaseMs: LEASE_MS,
    guard: { trustsCreations: () => trusts },
    watchCreation: (path: string, created: () => void) => {
      watched.push({ path, created });
      return () => void unwatched.push(path);
    },
    retryUntilAnswered: async () => {
      const next = read.shift();
      if (next === undefined) throw new Error('it was read once too often');
      return next();
    },
  };
  const entry = parseEntry(NODE);
  const contender = { session, node, queue: '/q', entry } as unknown as Contender;
  const signal = new HandoverSignal(contender, '/q', (claim) => void taken.push(claim));
  return { signal, node, session, watched, unwatched, taken, lost, read };
}

const LEASE_MS = 2000;
const UUID = '0b4b9c1e-0000-8100-8000-0bd000000000';
const NODE = `_c_${UUID}-lock-0000000003`;
const leaderAt = (version: number, zxid = 10n, connection = 1) =>
  ({ record: { state: 'held', term: 4 }, version, zxid, connection }) as HeldRecord;
const recordOf = (node: string, version: number, leaseMs = LEASE_MS) => ({
  data: serializeRecord({ state: 'held', term: 5, node, leaseMs }),
  stat: { version },
});

describe('a signal', () => {
  it('gives the next term, at the next version, with the newest heartbeat for a token', async () => {
    const { signal, session, watched, taken, read, lost } = waiting();
    signal.follow(leaderAt(7));
    expect(watched.map(({ path }) => path)).toEqual([`/q/_b_${UUID}_8`]);
    read.push(() => recordOf(NODE, 8));
    watched[0]?.created();
    await settle();
    const place = { seat: 0, record: '/q', node: '/q/own', connection: 1 };
    const origin = { kind: 'handover', sinceMs: session.clock.now() };
    expect(taken).toEqual([{ ...place, term: 5, version: 8, token: 12n, origin }]);
    expect(lost).toEqual([]);
  });

  it.each([
    ['gives no term to a candidate whose newest heartbeat is older than the record', { beats: [9n] }],
    ['gives no term to a candidate whose newest heartbeat wrote the record itself', { beats: [10n] }],
    ['gives no term to a candidate none of whose heartbeats has been answered', { beats: [] }],
    ['gives no term to a candidate whose lease is over', { isHeld: false }],
    ['gives no term to a candidate whose heartbeats raise no version', { raises: false }],
  ])('%s', async (_, known) => {
    const { signal, watched, taken } = waiting(known);
    signal.follow(leaderAt(7));
    watched[0]?.created();
    await settle();
    expect(taken).toEqual([]);
  });

  it('gives the token that was known when it came', async () => {
    const { signal, node, watched, taken, read } = waiting();
    signal.follow(leaderAt(7));
    read.push(() => recordOf(NODE, 8));
    watched[0]?.created();
    node.raised = { zxid: 15n };
    await settle();
    expect(taken.map(({ token }) => token)).toEqual([12n]);
  });

  it('gives no term when the wait has ended by the time that it is noticed', async () => {
    const { signal, watched, taken } = waiting();
    signal.follow(leaderAt(7));
    watched[0]?.created();
    signal.follow(undefined);
    await settle();
    expect(taken).toEqual([]);
  });

  it('is not waited for where everybody may create nodes', () => {
    const { signal, watched } = waiting({ trusts: false });
    signal.follow(leaderAt(7));
    expect(watched).toEqual([]);
  });

  it('is waited for anew with each version of the record, and on each connection', () => {
    const { signal, watched, unwatched } = waiting();
    signal.follow(leaderAt(7));
    signal.follow(leaderAt(7));
    signal.follow(leaderAt(8, 20n));
    signal.follow(leaderAt(8, 20n, 2));
    signal.follow(undefined);
    const paths = [8, 9, 9].map((version) => `/q/_b_${UUID}_${version}`);
    expect([watched.map(({ path }) => path), unwatched]).toEqual([paths, paths]);
  });

  it('is believed if a second look behind a write shows the record: the first server was behind', async () => {
    const { signal, watched, read, lost } = waiting();
    signal.follow(leaderAt(7));
    read.push(
      () => recordOf('leader', 7),
      () => recordOf(NODE, 8),
    );
    watched[0]?.created();
    await settle();
    expect([read, lost]).toEqual([[], []]);
  });

  it.each([
    ['is another candidate’s', recordOf('other', 8)],
    ['is at another version', recordOf(NODE, 9)],
    ['lets others wait for less than its lease', recordOf(NODE, 8, LEASE_MS - 1)],
  ])('ends the term that it gave if the record %s', async (_, record) => {
    const { signal, watched, read, lost, taken } = waiting();
    signal.follow(leaderAt(7));
    read.push(
      () => record,
      () => record,
    );
    watched[0]?.created();
    await settle();
    expect(taken).toHaveLength(1);
    expect(lost.map(String)).toEqual([expect.stringContaining('its record says otherwise')]);
  });
});

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ElectionSupervisor } from '../../../src/cluster/supervisor/election-supervisor.js';
import type { LeaderElectorOptions } from '../../../src/election/elector-options.js';
import { LeaderElector } from '../../../src/election/leader-elector.js';
import { revokeLeader } from '../../../src/election/revoke-leader.js';
import type { Term } from '../../../src/election/term/term.js';
import { deferred } from '../../../src/platform/async/promises.js';
import type { AccessEntry } from '../../../src/session/protocol/acl.js';
import type { Session } from '../../../src/session/session.js';
import { nextEvent } from '../../../src/testing/index.js';
import { startElection } from '../../support/conclave/elections-in-test-time.js';
import { candidateNodes } from '../../support/conclave/electors.js';
import { A_WHILE_MS, TIMES } from '../../support/conclave/group-members.js';
import { errorsOf, eventAfter } from '../../support/events.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../../support/silent-logger.mjs';

const PATH = '/elections/scheduler';
const ALL_BUT_READ: AccessEntry = { scheme: 'world', id: 'anyone', permissions: 2 | 4 | 8 | 16 };

async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const electing = (session: Session, options: LeaderElectorOptions = {}) => {
    const elector = new LeaderElector(session, PATH, options);
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    const errors = errorsOf(elector);
    return { elector, errors };
  };
  const first = await clock.advanceUntil(open()); // Creates the election with the usual access.
  await clock.advanceUntil(first.create('/elections'));
  await clock.advanceUntil(first.create(PATH));
  return { clock, server, open, first, electing };
}

describe('an elector that may not read its own node', () => {
  it('is refused at the start, once, when another candidate leads', async () => {
    const { clock, server, open, first, electing } = await setUp();
    const leader = electing(first);
    await clock.advanceUntil(leader.elector.start());
    const { elector, errors } = electing(await clock.advanceUntil(open({ access: [ALL_BUT_READ] })));
    server.resetCounts();
    const starting = elector.start();
    starting.catch(() => undefined); // Handled below.
    await clock.advance(5000);
    await expect(starting).rejects.toMatchObject({
      code: 'UNREADABLE_NODE',
      path: expect.stringContaining(`${PATH}/`),
    });
    expect([elector.state.name, errors]).toEqual(['stopped', []]);
    expect(server.count('create')).toBeLessThanOrEqual(2);
    expect(await clock.advanceUntil(leader.elector.candidates())).toHaveLength(1);
  });

  it('never leads when it is alone, and tries more and more rarely', async () => {
    const { clock, server, open, electing } = await setUp();
    const session = await clock.advanceUntil(open({ access: [ALL_BUT_READ] }));
    const said = errorsOf(session);
    const { elector } = electing(session);
    let terms = 0;
    elector.on('elected', () => void terms++);
    server.resetCounts();
    await clock.advanceUntil(elector.start());
    await clock.advance(60_000);
    expect(terms).toBe(0);
    const joins = server.requests.filter(
      ({ paths }) => paths[0]?.startsWith(`${PATH}/_c_`) && paths.length === 2,
    );
    expect(joins.length).toBeGreaterThan(5);
    expect(joins.length).toBeLessThan(30);
    expect(said[0]?.message).toContain('access list');
  });
});

it('an elector whose node is deleted as soon as it has one joins more and more rarely', async () => {
  const { clock, open, first, electing } = await setUp();
  const leader = electing(first);
  await clock.advanceUntil(leader.elector.start());
  const { elector } = electing(await clock.advanceUntil(open()));
  let joins = 0;
  elector.on('waiting', async () => {
    joins++;
    const [, own] = await candidateNodes(first, PATH);
    if (own !== undefined) await first.remove(`${PATH}/${own}`);
  });
  await clock.advanceUntil(elector.start());
  await clock.advance(60_000);
  expect(joins).toBeGreaterThan(5);
  expect(joins).toBeLessThan(40);
});

describe('work that blocks the event loop past the lease', () => {
  /** Leads until `go`, then blocks for `blockedMs`, looks whether it may act, and ends at once if it mayn't. */
  async function blocking(blockedMs: number, options: LeaderElectorOptions = {}) {
    const { clock, server, first, electing } = await setUp();
    const go = deferred();
    const warned: unknown[][] = [];
    const { elector, errors } = electing(first, {
      logger: { ...SILENT, warn: (...line: unknown[]) => void warned.push(line) },
      lead: async (term) => {
        await go.promise;
        if (term.number === 1) clock.jump(blockedMs);
        if (!term.isHeld()) return;
        await term.ended;
      },
      ...options,
    });
    const [term] = await clock.advanceUntil(eventAfter<[Term]>(elector, 'elected', () => elector.start()));
    await clock.advance(10_000);
    const demoted = nextEvent(elector, 'demoted');
    const run = async () => {
      go.resolve();
      await clock.advanceUntil(demoted);
      await clock.advance(100);
    };
    return { clock, server, session: first, term, errors, warned, run };
  }

  it('is reported, though it ends as soon as it asks, and warned of once with how long that was', async () => {
    const { session, term, errors, warned, run } = await blocking(5000);
    await run();
    expect(errors).toMatchObject([{ code: 'WORK_OVERRUN', term: term.number }]);
    const { leaseMs } = session;
    expect(warned).toEqual([
      [
        expect.objectContaining({ term: term.number }),
        'the event loop was blocked past the end of the lease',
      ],
    ]);
    const [[{ lateMs, silentMs }]] = warned as [[{ lateMs: number; silentMs: number }]];
    expect(lateMs).toBeLessThanOrEqual(5000);
    expect(lateMs).toBeGreaterThanOrEqual(5000 - leaseMs);
    expect(silentMs).toBe(lateMs + leaseMs);
    expect(silentMs).toBeGreaterThanOrEqual(5000);
  });

  it('is reported too when it returns without another question', async () => {
    const go = deferred();
    const run = await blocking(0, { lead: () => go.promise });
    run.clock.jump(5000);
    go.resolve();
    await run.run();
    expect(run.errors).toMatchObject([{ code: 'WORK_OVERRUN' }]);
  });

  it('does not end the process by onOverrun when it has settled by then', async () => {
    const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
    onTestFinished(() => exit.mockRestore());
    const { errors, run } = await blocking(5000, { onOverrun: 'exit' });
    await run();
    expect(errors).toHaveLength(1);
    expect(exit).not.toHaveBeenCalled();
  });

  it('is not reported, nor warned of, if it ends with its lease while the link is cut', async () => {
    const { server, errors, warned, run } = await blocking(0);
    server.partition();
    await run();
    server.heal();
    expect([errors, warned]).toEqual([[], []]);
  });
});

describe('work that goes on after its term has ended', () => {
  /** A term that was revoked or given back, whose work settles when the test says so. */
  async function ending(options: LeaderElectorOptions = {}) {
    const { clock, server, open, first, electing } = await setUp();
    const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
    onTestFinished(() => exit.mockRestore());
    const work = deferred();
    const { elector, errors } = electing(first, { lead: () => work.promise, ...options });
    await clock.advanceUntil(eventAfter<[Term]>(elector, 'elected', () => elector.start()));
    const operator = await clock.advanceUntil(open());
    return { clock, server, operator, elector, errors, exit, work, leaseMs: first.leaseMs };
  }

  it('ends the process by onOverrun when the lease is over, and not when the grace of a revocation is', async () => {
    const { clock, server, operator, elector, errors, exit, work, leaseMs } = await ending({
      onOverrun: 'exit',
    });
    revokeLeader(operator, PATH, { graceMs: 100 }).catch(() => undefined); // The leader doesn't answer: its work never settles.
    await clock.advance(2 * leaseMs);
    expect(errors).toMatchObject([{ code: 'WORK_OVERRUN', over: 'grace' }]);
    expect(errors[0]?.message).toContain('the grace of a revocation');
    expect([exit.mock.calls, elector.isWedged]).toEqual([[], false]);
    server.partition();
    await clock.advance(2 * leaseMs);
    expect(errors.slice(1)).toMatchObject([{ code: 'WORK_OVERRUN', over: 'lease' }]);
    expect([exit.mock.calls, elector.isWedged]).toEqual([[[70]], true]);
    server.heal();
    work.resolve();
  });

  it('makes the term a lost one for good when its lease is over before, though heartbeats come back', async () => {
    const { clock, server, elector, work, leaseMs } = await ending();
    const losses: unknown[] = [];
    elector.beforeRelease(async (_, loss) => void losses.push(loss));
    const resigning = elector.resign();
    server.partition();
    await clock.advance(1.5 * leaseMs);
    server.heal();
    await clock.advance(2 * leaseMs);
    expect(elector.isWedged).toBe(true);
    work.resolve();
    await clock.advanceUntil(resigning);
    expect(losses[0]).toBe('lease-expired');
  });
});

describe("a term's `ended`", () => {
  async function leading() {
    const { clock, leads, join } = await startElection(PATH);
    const elector = await join('leader');
    return { clock, elector, term: await leads(elector) };
  }

  it('resolves when the term has ended, after the abort of its signal, and never rejects', async () => {
    const { clock, elector, term } = await leading();
    const steps: string[] = [];
    const before = term.ended.then(() => steps.push('ended'));
    expect(term.ended).toBe(term.ended);
    term.signal.addEventListener('abort', () => steps.push('signal'));
    await clock.advance(1000);
    expect(steps).toEqual([]);
    await clock.advanceUntil(elector.resign());
    await before;
    expect(steps).toEqual(['signal', 'ended']);
    await expect(term.ended).resolves.toBeUndefined();
  });

  it('resolves at once when it is asked for after the end', async () => {
    const { clock, elector, term } = await leading();
    await clock.advanceUntil(elector.stop());
    await expect(term.ended).resolves.toBeUndefined();
  });
});

type Line = Record<string, unknown> & { readonly message: string };

function recordingLogger() {
  const lines: Line[] = [];
  const info = (details: object, message: string) => void lines.push({ ...details, message });
  return { lines, logger: { ...SILENT, info } };
}

/** Starts an election that records what each candidate logs at `info`. */
async function startLoggedElection() {
  const election = await startElection(PATH, TIMES);
  const join = async (id: string) => {
    const { lines, logger } = recordingLogger();
    return { elector: await election.join(id, { logger }), lines };
  };
  return { ...election, join };
}

const messages = (lines: readonly Line[]) => lines.map(({ message }) => message);

describe('what is logged of an elector', () => {
  it('is a line for each transition, with who and where, the term and its token, and none for a heartbeat', async () => {
    const { clock, join } = await startLoggedElection();
    const first = await join('a');
    const second = await join('b');
    await clock.advance(A_WHILE_MS);
    const token = String(first.elector.term?.token);
    const elected = nextEvent(second.elector, 'elected');
    await clock.advanceUntil(first.elector.resign());
    await elected;
    await clock.advance(60_000);
    await clock.advanceUntil(first.elector.stop());
    expect(messages(first.lines)).toEqual(['elected', 'demoted', 'released', 'waiting', 'left the election']);
    for (const line of first.lines) expect(line).toMatchObject({ election: PATH, id: 'a' });
    const [led, demoted, released, waiting] = first.lines;
    expect(led).toMatchObject({ term: 1, token, reason: 'vacant', waitedMs: 0 });
    expect(demoted).toMatchObject({ term: 1, token, reason: 'resigned', lastedMs: A_WHILE_MS });
    expect(released).toMatchObject({ term: 1, token, successor: expect.stringContaining('_c_') });
    expect(waiting).toMatchObject({ position: 1, ahead: released?.successor });
    expect(messages(second.lines)).toEqual(['waiting', 'elected']);
    expect(second.lines[1]).toMatchObject({
      term: 2,
      reason: 'handover',
      waitedMs: A_WHILE_MS,
      handoverMs: 0,
    });
  });

  it('says how long a leader was silent, and how long the failover took', async () => {
    const { clock, join, atServer } = await startLoggedElection();
    const first = await join('a');
    const second = await join('b');
    await clock.advance(A_WHILE_MS);
    const elected = nextEvent(second.elector, 'elected');
    atServer(first.elector).partition();
    await clock.advanceUntil(elected);
    expect(messages(second.lines)).toEqual([
      'waiting',
      'no heartbeat from the leader for longer than its lease: taking over',
      'elected',
    ]);
    const [, takeover, led] = second.lines;
    expect(takeover).toMatchObject({ election: PATH, id: 'b', term: 1, formerLeader: 'a' });
    expect(led).toMatchObject({ term: 2, reason: 'failover', failoverMs: takeover?.silentMs });
    expect(led?.failoverMs).toBeGreaterThan(TIMES.leaseMs);
  });
});

describe('what is logged of a supervisor', () => {
  it('is a line for each transition of its sessions, its elector and itself', async () => {
    const { clock, server } = await startWithTestClock();
    const { lines, logger } = recordingLogger();
    const supervisor = new ElectionSupervisor({
      ...{ connect: server.connectString, path: PATH, id: 'a', logger },
      session: { ...TIMES, environment: clock.environment },
      cleanup: () => undefined,
    });
    await clock.advanceUntil(supervisor.start());
    const again = nextEvent(supervisor, 'elected');
    server.expireSession(() => true);
    await clock.advanceUntil(again);
    await clock.advanceUntil(supervisor.stop());
    expect(messages(lines)).toEqual([
      ...['session opened', 'elected', 'demoted', 'ended with its session', 'cleaned', 'restarting'],
      ...['session opened', 'the former leader ended uncleanly: waiting for its lease to end'],
      ...['elected', 'demoted', 'released', 'left the election', 'stopped'],
    ]);
    for (const line of lines) expect(line).toMatchObject({ election: PATH, id: 'a' });
    expect(lines[4]).toMatchObject({ reason: 'session-expired', attempts: 1, tookMs: 0 });
    expect(lines[5]).toMatchObject({ attempt: 1, delayMs: 0 });
  });
});

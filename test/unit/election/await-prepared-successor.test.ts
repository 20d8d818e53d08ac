import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ElectionSupervisor } from '../../../src/cluster/supervisor/election-supervisor.js';
import type { LeaderElectorOptions } from '../../../src/election/elector-options.js';
import { revokeLeader } from '../../../src/election/revoke-leader.js';
import type { Term } from '../../../src/election/term/term.js';
import { deferred, ignore } from '../../../src/platform/async/promises.js';
import { startElection } from '../../support/conclave/elections-in-test-time.js';
import { SILENT } from '../../support/silent-logger.mjs';

const PATH = '/election';
const WAIT_MS = 60_000;

/** A leader whose successor prepares until the test lets it go, unless options say otherwise. */
async function setUp(leaderOptions: LeaderElectorOptions = {}, nextOptions?: LeaderElectorOptions) {
  const warnings: object[] = [];
  const logger = {
    ...SILENT,
    warn: (details: object, message: string) => {
      if (!message.startsWith('waitForPreparedMs')) warnings.push({ message, ...details }); // This leader has no `prepare`.
    },
  };
  const loaded = deferred<undefined>();
  const waiting = { prepare: () => loaded.promise, lead: (term: Term) => term.ended };
  const errors: Error[] = [];
  const election = await startElection(PATH);
  const { clock } = election;
  const join = async (id: string, options: LeaderElectorOptions = {}) => {
    const elector = await election.join(id, { logger, ...options });
    elector.on('error', (error) => void errors.push(error));
    return elector;
  };
  const leader = await join('leader', { waitForPreparedMs: WAIT_MS, ...leaderOptions });
  const term = await election.leads(leader);
  const next = await join('next', nextOptions ?? waiting);
  await clock.advance(1000);
  return { ...election, join, leader, next, term, warnings, errors, loaded, waiting };
}

type World = Awaited<ReturnType<typeof setUp>>;

const ENDS: readonly (readonly [string, (world: World) => Promise<unknown>])[] = [
  ['resigns', ({ leader }) => leader.resign()],
  ['stops', ({ leader }) => leader.stop()],
  ['hands over', ({ leader }) => leader.handOver('next')],
  ['is asked to step down', async ({ open }) => revokeLeader(await open(), PATH, { graceMs: WAIT_MS })],
  [
    'is asked to hand over',
    async ({ open }) => revokeLeader(await open(), PATH, { graceMs: WAIT_MS, to: 'next' }),
  ],
];

describe('a leader that waits for its successor to be prepared', () => {
  it.each(ENDS)('goes on leading until then when it %s', async (_, end) => {
    const world = await setUp();
    const { clock, term, loaded, next, leads, warnings, errors } = world;
    const ended = end(world);
    await clock.advance(20_000);
    expect(term.isHeld()).toBe(true);
    expect(next.isLeader).toBe(false);
    loaded.resolve(undefined);
    await leads(next);
    await clock.advanceUntil(ended);
    expect(term.signal.aborted).toBe(true);
    expect([warnings, errors]).toEqual([[], []]);
  });

  it.each(ENDS)('warns, and hands over all the same, when the time is over after it %s', async (_, end) => {
    const world = await setUp({ waitForPreparedMs: 5000 });
    const { clock, term, next, leads, warnings } = world;
    const ended = end(world);
    await clock.advance(4999);
    expect(term.isHeld()).toBe(true);
    await clock.advance(1);
    expect(term.signal.aborted).toBe(true);
    await leads(next);
    await clock.advanceUntil(ended);
    const message = 'the candidate that leads next is not prepared: handing over all the same';
    expect(warnings).toMatchObject([{ message, term: 1, waitedMs: 5000, successor: expect.any(String) }]);
  });

  it.each(['resign', 'stop'] as const)(
    'does not wait by default: %s() ends the term at once',
    async (call) => {
      const { clock, leader, term } = await setUp({ waitForPreparedMs: 0 });
      const ended = leader[call]();
      expect(term.signal.aborted).toBe(true);
      await clock.advanceUntil(ended);
    },
  );

  it.each([
    ['there is no successor', async ({ clock, next }: World) => clock.advanceUntil(next.stop())],
    ['the successor is prepared', async ({ loaded }: World) => loaded.resolve(undefined)],
  ] as const)('does not wait when %s', async (_, act) => {
    const world = await setUp();
    await act(world);
    await world.clock.advance(1000);
    const before = world.clock.now();
    await world.clock.advanceUntil(world.leader.stop());
    expect(world.clock.now() - before).toBeLessThan(100);
  });

  it('does not wait for a successor that does not prepare', async () => {
    const { clock, leader, next } = await setUp({}, {});
    const before = clock.now();
    await clock.advanceUntil(leader.resign());
    expect(next.isLeader).toBe(true);
    expect(clock.now() - before).toBeLessThan(100);
  });

  it('counts the next one if the successor leaves', async () => {
    const { clock, join, leader, next, waiting, term, leads } = await setUp();
    const second = await join('second', waiting);
    const plain = await join('plain');
    const ended = leader.resign();
    for (const leaving of [next, second]) {
      await clock.advance(1000);
      expect(term.isHeld()).toBe(true);
      await clock.advanceUntil(leaving.stop());
    }
    await leads(plain);
    await clock.advanceUntil(ended);
  });

  it('keeps its term if the candidate to which it was to hand over leaves', async () => {
    const { clock, join, leader, next, waiting, term } = await setUp();
    await join('second', waiting);
    const refused = leader.handOver('next').catch((error: unknown) => error);
    await clock.advance(1000);
    await clock.advanceUntil(next.stop());
    expect(await clock.advanceUntil(refused)).toMatchObject({ code: 'NO_CANDIDATE' });
    expect(term.isHeld()).toBe(true);
  });

  it('waits for half of the grace at most when it is asked to step down, so that its work has time to settle', async () => {
    const { clock, open, term, errors } = await setUp({
      lead: async ({ ended }) => {
        await ended;
        await new Promise<void>((resolve) => void clock.after(900, resolve));
      },
    });
    const asking = await clock.advanceUntil(open());
    const asked = revokeLeader(asking, PATH, { graceMs: 2000 });
    await clock.advance(999);
    expect(term.isHeld()).toBe(true);
    await clock.advance(1);
    expect(term.signal.aborted).toBe(true);
    await clock.advanceUntil(asked);
    expect(errors).toEqual([]);
  });

  it('ends its term at once when that is lost meanwhile, and warns of nothing later', async () => {
    const { clock, server, leader, next, term, warnings, loaded, leads } = await setUp();
    const ended = leader.stop();
    await clock.advance(1000);
    server.expireSession(({ id }) => id === leader.session.credentials.id);
    await clock.advanceUntil(ended);
    expect(term.signal.reason).toMatchObject({ reason: 'session-expired' });
    loaded.resolve(undefined);
    await leads(next);
    await clock.advance(WAIT_MS);
    expect(warnings).toEqual([]);
  });

  it('waits in a call from inside its work, which returns when the signal has aborted', async () => {
    const begun = deferred();
    const returned = deferred<boolean>();
    const { clock, leader, loaded } = await setUp({
      lead: async (term) => {
        await begun.promise;
        await leader.resign();
        returned.resolve(term.signal.aborted);
      },
    });
    begun.resolve();
    await clock.advance(5000);
    expect(leader.isLeader).toBe(true);
    loaded.resolve(undefined);
    expect(await clock.advanceUntil(returned.promise)).toBe(true);
  });

  it('counts the wait against the timeout of stop(), which says what it waits for, and goes on', async () => {
    const { clock, leader, next, term, loaded, leads, errors } = await setUp();
    const refused = leader.stop({ timeoutMs: 3000 }).catch((error: unknown) => error);
    await clock.advance(3000);
    expect(await refused).toMatchObject({ code: 'STOP_PENDING', waitsFor: 'successor', waitedMs: 3000 });
    await clock.advance(20_000);
    expect(term.isHeld()).toBe(true);
    loaded.resolve(undefined);
    await leads(next);
    await clock.advanceUntil(leader.stop());
    expect(errors).toEqual([]);
  });

  it('ends its term when its work ends, without a wait', async () => {
    const work = deferred();
    const { leader, next, leads } = await setUp({ lead: () => work.promise });
    void leader.stop();
    work.resolve();
    await leads(next);
  });
});

describe('a supervisor that waits for its successor to be prepared', () => {
  async function supervise() {
    const { clock, server, join } = await startElection(PATH);
    const supervisor = new ElectionSupervisor({
      ...{ connect: server.connectString, path: PATH, waitForPreparedMs: WAIT_MS, logger: SILENT },
      session: { environment: clock.environment },
    });
    const errors: Error[] = [];
    supervisor.on('error', (error) => void errors.push(error));
    await clock.advanceUntil(supervisor.start());
    await clock.advanceUntil(() => supervisor.isLeader);
    const loaded = deferred<undefined>();
    const next = await join('next', { prepare: () => loaded.promise, lead: (term) => term.ended });
    await clock.advance(1000);
    return { clock, supervisor, next, loaded, term: supervisor.term as Term, errors };
  }

  it('goes on leading, and is live and leading, until it stops', async () => {
    const { clock, supervisor, next, loaded, term, errors } = await supervise();
    const stopped = supervisor.stop();
    await clock.advance(30_000);
    expect(term.isHeld()).toBe(true);
    expect(supervisor.health()).toMatchObject({ live: true, leading: true, wedged: false });
    loaded.resolve(undefined);
    await clock.advanceUntil(stopped);
    await clock.advanceUntil(() => next.isLeader);
    expect(errors).toEqual([]);
  });

  it.each([
    ['exits when the successor is prepared', 1000, 0, ''],
    ['gives up at the deadline', 8000, 124, 'the candidate that leads next still prepares'],
  ] as const)('%s, after a signal', async (_, ms, code, message) => {
    const { clock, supervisor, loaded, term } = await supervise();
    const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
    const printed = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
    onTestFinished(() => {
      exit.mockRestore();
      printed.mockRestore();
      process.removeAllListeners('SIGUSR2');
    });
    supervisor.shutdownOn(['SIGUSR2']);
    process.emit('SIGUSR2', 'SIGUSR2');
    await clock.advance(ms - 1);
    expect(term.isHeld()).toBe(true);
    if (code === 0) loaded.resolve(undefined);
    await clock.advanceUntil(() => exit.mock.calls.length > 0);
    expect(exit).toHaveBeenCalledWith(code);
    expect(String(printed.mock.calls)).toContain(message);
    loaded.resolve(undefined);
    await clock.advanceUntil(supervisor.stop()).catch(ignore);
  });
});

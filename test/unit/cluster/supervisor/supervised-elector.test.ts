import { describe, expect, it, onTestFinished } from 'vitest';
import type { SessionLoss } from '../../../../src/cluster/supervisor/cleanup-hook.js';
import { ElectionSupervisor } from '../../../../src/cluster/supervisor/election-supervisor.js';
import type { ElectionSupervisorOptions } from '../../../../src/cluster/supervisor/election-supervisor-options.js';
import type { Term } from '../../../../src/election/term/term.js';
import { type Deferred, deferred } from '../../../../src/platform/async/promises.js';
import { sleep } from '../../../../src/platform/time/clock.js';
import { heartbeatPathOf } from '../../../../src/queue/names-and-order.js';
import { nextEvent } from '../../../../src/testing/index.js';
import { errorsOf, eventAfter } from '../../../support/events.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const PATH = '/election';
const SESSION_TIMEOUT_MS = 6000;
const LEASE_MS = SESSION_TIMEOUT_MS / 3;
const EVENTS = ['elected', 'demoted', 'expired', 'cleaned', 'restarting', 'stopped'] as const;

interface Given extends Partial<ElectionSupervisorOptions> {
  /** What the work waits for; without it the work ends with its term. */
  readonly work?: Deferred<void>;
}

/** Starts a supervisor that leads. `hooks` has what the hook was told, and whether a candidate was in the queue meanwhile. */
async function leading({ work, ...options }: Given = {}) {
  const { clock, server, open } = await startWithTestClock();
  const steps: string[] = [];
  const losses: SessionLoss[] = [];
  const candidates: number[] = [];
  const supervisor = new ElectionSupervisor({
    connect: server.connectString,
    path: PATH,
    session: { sessionTimeoutMs: SESSION_TIMEOUT_MS, environment: clock.environment },
    ...(work !== undefined && { lead: () => work.promise }),
    ...options,
    cleanup: async (loss) => {
      losses.push(loss);
      steps.push('hook begins');
      await sleep(clock, 5000);
      candidates.push(server.paths(PATH).length - 1);
      steps.push('hook ends');
    },
  });
  for (const event of EVENTS) supervisor.on(event, () => void steps.push(event));
  const errors = errorsOf(supervisor);
  onTestFinished(async () => {
    work?.resolve();
    server.heal();
    await clock.advanceUntil(supervisor.stop());
  });
  const elected = nextEvent<[Term]>(supervisor, 'elected');
  await clock.advanceUntil(supervisor.start());
  const [term] = await clock.advanceUntil(elected);
  await clock.advance(10_000); // Its node is watched, and heartbeats go on.
  steps.length = 0;
  const again = nextEvent(supervisor, 'elected');
  again.catch(() => undefined); // Not all tests wait for it.
  const node = supervisor.candidacy?.elector.claim?.node as string;
  return { clock, server, open, supervisor, term, node, steps, losses, candidates, errors, again };
}

type Led = Awaited<ReturnType<typeof leading>>;

const WAYS: readonly (readonly [reason: string, lose: (led: Led) => unknown])[] = [
  ['session-expired', ({ server }) => server.expireSession(() => true)],
  [
    'lease-expired',
    ({ clock, term }) => {
      clock.jump(LEASE_MS); // As a process that stands still: its session outlives its lease.
      expect(term.isHeld()).toBe(false);
    },
  ],
  [
    'node-deleted',
    async ({ clock, open, node }) => {
      const other = await clock.advanceUntil(open());
      await clock.advanceUntil(other.remove(node));
    },
  ],
  [
    'superseded',
    async ({ clock, server, open, node }) => {
      // Does what another candidate's claim would do. A real claim can't do it here, because both candidates would use one clock.
      const other = await clock.advanceUntil(open());
      const deletions = [heartbeatPathOf(node), node].map((path) => ({ kind: 'delete', path }) as const);
      const data = server.data(PATH) as Buffer;
      await clock.advanceUntil(other.commit([...deletions, { kind: 'set', path: PATH, data }]));
    },
  ],
];

describe('the clean-up hook', () => {
  for (const [reason, lose] of WAYS)
    it(`is called after a term that ended with ${reason}, and ends before its process joins the election again`, async () => {
      const led = await leading();
      const { clock, term, steps, losses, candidates, again } = led;
      await lose(led);
      await clock.advanceUntil(again);
      expect(losses).toMatchObject([{ term, reason, attempt: 1 }]);
      expect(steps.filter((step) => step !== 'expired')).toEqual([
        ...['demoted', 'hook begins', 'hook ends', 'cleaned', 'restarting', 'elected'],
      ]);
      expect(candidates).toEqual([0]);
    });

  it('is called once when the lease ends with the link cut, and the next server says that the session lives', async () => {
    const { clock, server, supervisor, term, steps, losses, again } = await leading();
    await clock.advanceUntil(eventAfter(supervisor, 'demoted', () => server.partition()));
    await clock.advance(LEASE_MS);
    expect([losses, supervisor.health().live]).toEqual([[], true]);
    server.heal();
    await clock.advanceUntil(again);
    expect(losses).toMatchObject([{ term, reason: 'lease-expired' }]);
    expect(steps).not.toContain('expired');
  });

  it('is called once when the lease ends with the link cut, and the next server says that the session has expired', async () => {
    const { clock, server, term, steps, losses, again } = await leading();
    server.partition();
    await clock.advance(2 * SESSION_TIMEOUT_MS);
    expect(losses).toEqual([]);
    server.heal();
    await clock.advanceUntil(again);
    expect(losses).toMatchObject([{ term, reason: 'session-expired' }]);
    expect(steps.slice(0, 3)).toEqual(['demoted', 'expired', 'hook begins']);
  });

  it('is called after a stop, if the lease was over before the work settled', async () => {
    const work = deferred();
    const { clock, server, supervisor, term, steps, losses, errors } = await leading({ work });
    const stopping = supervisor.stop();
    server.partition();
    await clock.advance(2 * LEASE_MS);
    expect(errors).toContainEqual(expect.objectContaining({ code: 'WORK_OVERRUN' }));
    work.resolve();
    await clock.advanceUntil(stopping);
    expect(losses).toMatchObject([{ term, reason: 'lease-expired', stopping: true }]);
    expect(steps).toEqual(['demoted', 'hook begins', 'hook ends', 'cleaned', 'stopped']);
  });

  it('is called after a resignation, if the lease was over before the work settled', async () => {
    const work = deferred();
    const { clock, server, supervisor, term, losses, candidates, again } = await leading({ work });
    const resigning = supervisor.resign();
    server.partition();
    await clock.advance(2 * LEASE_MS);
    work.resolve();
    await clock.advance(100);
    server.heal();
    await clock.advanceUntil(resigning);
    await clock.advanceUntil(again);
    expect(losses).toMatchObject([{ term, reason: 'lease-expired' }]);
    expect(candidates).toEqual([0]);
  });

  it('is called after a lost term whose work went on while heartbeats arrived again', async () => {
    const work = deferred();
    const { clock, term, losses, again } = await leading({ work });
    clock.jump(LEASE_MS);
    expect(term.isHeld()).toBe(false);
    await clock.advance(2 * LEASE_MS);
    work.resolve();
    await clock.advanceUntil(again);
    expect(losses).toMatchObject([{ term, reason: 'lease-expired' }]);
  });

  it('is not called after a term that was given back', async () => {
    const { clock, supervisor, steps, losses, again } = await leading();
    await clock.advanceUntil(supervisor.resign());
    await clock.advanceUntil(again);
    expect([steps, losses]).toEqual([['demoted', 'elected'], []]);
  });
});

it('a supervisor that loses one term after another at once stays out of the election for as long as an elector does, though each term has a session of its own', async () => {
  const { clock, supervisor, again } = await leading();
  const lose = (term: Term | undefined) => {
    clock.jump(LEASE_MS);
    expect(term?.isHeld()).toBe(false);
  };
  lose(supervisor.term);
  await clock.advanceUntil(again); // That term had lasted: this loss counts for nothing.
  for (const leastMs of [0, 12_000, 24_000]) {
    const next = nextEvent(supervisor, 'elected');
    lose(supervisor.term);
    const lostAt = clock.now();
    await clock.advanceUntil(next);
    expect(clock.now() - lostAt).toBeGreaterThanOrEqual(leastMs);
  }
});

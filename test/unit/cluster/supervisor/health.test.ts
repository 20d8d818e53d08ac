import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Health,
  type HealthSource,
  healthHandler,
  healthOf,
} from '../../../../src/cluster/supervisor/health.js';
import type { OpenCandidacy } from '../../../../src/cluster/supervisor/supervised-elector.js';
import type { SupervisorState as AnyState } from '../../../../src/cluster/supervisor/supervision-loop.js';
import type { ElectorState } from '../../../../src/election/elector-state.js';
import type { LeaderElector } from '../../../../src/election/leader-elector.js';
import type { Term } from '../../../../src/election/term/term.js';
import { type DemotionReason, InvalidOptionError } from '../../../../src/errors.js';
import type { Session } from '../../../../src/session/session.js';
import type { SessionState } from '../../../../src/session/session-state.js';

type SupervisorState = AnyState<OpenCandidacy>;

const NOW = 100_000;
const held = { isHeld: () => true } as Term;
const connected: SessionState = { name: 'connected' };
const suspended: SessionState = { name: 'suspended', sinceMs: NOW - 700 };

/** Of its elector no more than this is looked at. */
const participating = (
  elector: Partial<LeaderElector>,
  session: SessionState = connected,
): SupervisorState => ({
  name: 'participating',
  participation: { elector: elector as LeaderElector, session: { state: session } as Session },
});

const campaigning = (state: ElectorState, session?: SessionState) => participating({ state }, session);

const ending = (reason: DemotionReason, isWedged: boolean, session: SessionState = connected) =>
  participating({ state: { name: 'ending', term: held, reason }, isWedged }, session);

/** A state whose lease is over, which the elector hasn't noticed yet. The question ends the term, and work may go on. */
function pastItsLease(isWedged: boolean): SupervisorState {
  const elector: { state?: ElectorState; isWedged?: boolean } = {};
  const isHeld = () => {
    elector.state = { name: 'ending', term: held, reason: 'lease-expired' };
    elector.isWedged = isWedged;
    return false;
  };
  elector.state = { name: 'leading', term: { isHeld } as unknown as Term };
  return participating(elector);
}

it('names a prepare for which the work of the term waits (a leader that did nothing was all well)', () => {
  const state = participating({ state: { name: 'leading', term: held }, preparingMs: 15_000 });
  expect(healthOf(state, { now: NOW, coolUntil: 0 })).toMatchObject({
    leading: true,
    reasons: ['lead has waited for prepare for 15000 ms in the term'],
  });
});

const WELL = { live: true, ready: true, leading: false, wedged: false };
const OUT = { ...WELL, ready: false };
const GONE = { ...OUT, live: false };
const waiting: ElectorState = { name: 'waiting', position: 1, ahead: 'a' };

describe('health', () => {
  it.each<[string, SupervisorState, Omit<Health, 'reasons'>, string[]]>([
    ['has not started', { name: 'idle' }, GONE, ['not started']],
    [
      'has found no server for a long time',
      { name: 'connecting', attempt: 30, sinceMs: NOW - 90_000 },
      OUT,
      ['no session for 90000 ms, attempt 30'],
    ],
    ['takes its place', campaigning({ name: 'starting' }), OUT, ['the elector is starting']],
    ['waits', campaigning(waiting), WELL, []],
    [
      'waits, without a server to notify it of its turn',
      campaigning(waiting, suspended),
      OUT,
      ['no server for 700 ms'],
    ],
    ['claims', campaigning({ name: 'claiming' }), WELL, []],
    ['claims, without a server', campaigning({ name: 'claiming' }, suspended), OUT, ['no server for 700 ms']],
    ['leads', campaigning({ name: 'leading', term: held }), { ...WELL, leading: true }, []],
    [
      'leads on its lease, without a server',
      campaigning({ name: 'leading', term: held }, suspended),
      { ...WELL, leading: true },
      ['no server for 700 ms'],
    ],
    [
      'is past its lease with work that still runs',
      pastItsLease(true),
      { ...GONE, wedged: true },
      ['the term has ended (lease-expired), its work still runs, though the lease is over'],
    ],
    [
      'is past its lease without work',
      pastItsLease(false),
      OUT,
      ['the term has ended (lease-expired), its work still has to settle'],
    ],
    [
      'resigns',
      ending('resigned', false),
      OUT,
      ['the term has ended (resigned), its work still has to settle'],
    ],
    [
      'has resigned, and works on past its lease, without a server',
      ending('resigned', true, suspended),
      { ...GONE, wedged: true },
      [
        'the term has ended (resigned), its work still runs, though the lease is over',
        'no server for 700 ms',
      ],
    ],
    [
      'was superseded, and works on',
      ending('superseded', true),
      { ...GONE, wedged: true },
      ['the term has ended (superseded), its work still runs, though the lease is over'],
    ],
    [
      'works on after its session has expired',
      ending('session-expired', true, { name: 'expired' }),
      { ...GONE, wedged: true },
      ['the term has ended (session-expired), its work still runs, though the lease is over'],
    ],
    [
      'was asked to stop a lease ago, and works on',
      participating({ state: { name: 'ending', term: held, reason: 'stopped' }, isOverdue: true }),
      { ...GONE, wedged: true },
      ['the term has ended (stopped), its work still runs, a lease after it was told to stop'],
    ],
    ['takes another place', campaigning({ name: 'joining' }), OUT, ['the elector is joining']],
    ['has an elector that has stopped', campaigning({ name: 'stopped' }), OUT, ['the elector is stopped']],
    [
      'settles after an expiry',
      { ...campaigning({ name: 'expired' }, { name: 'expired' }), name: 'settling' } as SupervisorState,
      OUT,
      ['the elector is expired'],
    ],
    ['cleans up', { name: 'cleaning', attempt: 1 }, OUT, ['the clean-up hook runs']],
    ['cleans up again', { name: 'cleaning', attempt: 3 }, OUT, ['the clean-up hook runs, attempt 3']],
    ['has stopped', { name: 'stopped' }, GONE, ['stopped']],
  ])('of one that %s', (_, state, expected, reasons) => {
    expect(healthOf(state, { now: NOW, coolUntil: 0 })).toEqual({ ...expected, reasons });
  });

  it.each<[string, SupervisorState]>([
    ['on its session', campaigning({ name: 'joining' })],
    ['before it opens another one', { name: 'cooling' }],
  ])('of one that cools down %s', (_, state) => {
    const reasons = ['cools down after a loss, for another 1500 ms'];
    expect(healthOf(state, { now: NOW, coolUntil: NOW + 1500 })).toEqual({ ...OUT, reasons });
  });
});

const ALL_WELL = { live: true, ready: true, reasons: [] };
const TERM = {
  number: 7,
  token: 2n ** 60n + 1n,
  isHeld: () => true,
  remainingMs: () => 1234.5,
};

const waitingSource: HealthSource = { id: 'one', health: () => ALL_WELL, term: undefined };
const leading: HealthSource = { ...waitingSource, term: TERM };
const shards: HealthSource = { id: 'member', health: () => ALL_WELL };

async function ask(source: HealthSource, path: string, method = 'GET') {
  const answer = await healthHandler(source)(new Request(`http://localhost${path}`, { method }));
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text === '' ? undefined : JSON.parse(text) };
}

describe('a health check', () => {
  it.each([
    ['/livez', { live: true, ready: false }, 200],
    ['/livez', { live: false, ready: false }, 503],
    ['/readyz', { live: true, ready: true }, 200],
    ['/readyz', { live: true, ready: false }, 503],
  ])(
    'of %s with %j is answered by %i, with what the supervisor says of itself',
    async (path, flags, status) => {
      const health = { ...flags, reasons: ['no server for 7 ms'] };
      const found = await ask({ ...waitingSource, health: () => health }, path);
      expect([found.status, found.body]).toEqual([status, health]);
      expect(found.headers.get('content-type')).toBe('application/json');
      expect(found.headers.get('cache-control')).toBe('no-store');
    },
  );

  it('is ready while another candidate leads: ready is not leading', async () => {
    expect((await ask(waitingSource, '/readyz')).status).toBe(200);
    expect((await ask(waitingSource, '/leader')).status).toBe(503);
  });

  it('of the leader has its term, with the token in full', async () => {
    const { status, body } = await ask(leading, '/leader');
    expect([status, body]).toEqual([
      200,
      { leading: true, id: 'one', term: 7, token: '1152921504606846977', remainingMs: 1234 },
    ]);
  });

  it('asks the lease, and not only whether there is a term', async () => {
    const lost = { ...leading, term: { ...TERM, isHeld: () => false } };
    const { status, body } = await ask(lost, '/leader');
    expect([status, body]).toEqual([503, { leading: false, id: 'one' }]);
  });

  it('finds no leader of a group of shards', async () => {
    expect((await ask(shards, '/leader')).status).toBe(404);
    expect((await ask(shards, '/readyz')).status).toBe(200);
  });

  it('is answered wherever it is mounted, and nowhere else', async () => {
    const prefix = fc
      .array(fc.stringMatching(/^[\w.~-]+$/))
      .map((parts) => parts.map((part) => `/${part}`).join(''));
    const page = fc.constantFrom('livez', 'readyz', 'leader');
    await fc.assert(
      fc.asyncProperty(prefix, page, async (mounted, name) => {
        expect((await ask(leading, `${mounted}/${name}?verbose=1`)).status).toBe(200);
        expect((await ask(leading, `${mounted}/${name}/more`)).status).toBe(404);
        expect((await ask(leading, `${mounted}/x${name}`)).status).toBe(404);
      }),
    );
    expect((await ask(leading, '/')).status).toBe(404);
  });

  it('by HEAD has no body, and the same status and headers', async () => {
    const [get, head] = [await ask(waitingSource, '/leader'), await ask(waitingSource, '/leader', 'HEAD')];
    expect([head.status, head.body]).toEqual([503, undefined]);
    expect([...head.headers]).toEqual([...get.headers]);
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('by %s is not allowed', async (method) => {
    const { status, headers } = await ask(waitingSource, '/livez', method);
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await ask(waitingSource, '/other', method)).status).toBe(404);
  });

  it.each([undefined, null, {}, 'supervisor'])('can not be made of %j', (wrong) => {
    expect(() => healthHandler(wrong as unknown as HealthSource)).toThrow(InvalidOptionError);
  });
});

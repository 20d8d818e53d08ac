import { describe, expect, it } from 'vitest';
import { type Health, healthOf } from '../../../../src/cluster/supervisor/health.js';
import type { OpenCandidacy } from '../../../../src/cluster/supervisor/supervised-elector.js';
import type { SupervisorState as AnyState } from '../../../../src/cluster/supervisor/supervisor-state.js';
import type { ElectorState } from '../../../../src/election/elector-state.js';
import type { LeaderElector } from '../../../../src/election/leader-elector.js';
import type { Term } from '../../../../src/election/term/term.js';
import type { DemotionReason } from '../../../../src/errors.js';
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

import { describe, expect, it } from 'vitest';
import { healthOf, type SupervisorState } from '../../src/cluster/health.js';
import type { ElectorState } from '../../src/election/elector-state.js';
import type { Term } from '../../src/election/term.js';
import type { DemotionReason } from '../../src/errors.js';

const term = (held: boolean) => ({ isHeld: () => held }) as Term;
const standing = (state: ElectorState, name = 'standing'): SupervisorState =>
  ({ name, elector: { state } }) as SupervisorState;
const ending = (reason: DemotionReason): ElectorState => ({ name: 'ending', term: term(false), reason });

const WELL = { live: true, ready: true, leading: false, wedged: false, reasons: [] };
const NOT_YET = { ...WELL, ready: false };
const GONE = { ...NOT_YET, live: false };

describe('health', () => {
  it.each<[string, SupervisorState, object]>([
    ['not started', { name: 'idle' }, { ...GONE, reasons: ['not started'] }],
    [
      'looking for a server',
      { name: 'connecting', attempt: 3 },
      { ...NOT_YET, reasons: ['no session yet, attempt 3'] },
    ],
    ['waiting', standing({ name: 'waiting', position: 1, ahead: 'a' }), WELL],
    ['claiming', standing({ name: 'claiming' }), WELL],
    ['leading', standing({ name: 'leading', term: term(true) }), { ...WELL, leading: true }],
    [
      'past its lease',
      standing({ name: 'leading', term: term(false) }),
      { ...NOT_YET, wedged: true, reasons: ['the lease is over'] },
    ],
    ['cleaning up', { name: 'cleaning' }, { ...NOT_YET, reasons: ['the clean-up hook runs'] }],
    ['stopped', { name: 'stopped' }, { ...GONE, reasons: ['stopped'] }],
    [
      'closing its session',
      standing({ name: 'stopped' }, 'settling'),
      { ...NOT_YET, reasons: ['the elector is stopped'] },
    ],
  ])('of one that is %s', (_, state, expected) => {
    expect(healthOf(state)).toEqual(expected);
  });

  it.each(['idle', 'starting', 'joining', 'stopped', 'expired'] as const)(
    'of one whose elector is %s',
    (name) => {
      const reasons = [`the elector is ${name}`];
      expect(healthOf(standing({ name }))).toEqual({ ...NOT_YET, reasons });
    },
  );

  it.each<[DemotionReason, boolean]>([
    ['resigned', false],
    ['stopped', false],
    ['finished', false],
    ['revoked', false],
    ['lease-expired', true],
    ['session-expired', true],
    ['node-deleted', true],
  ])('of one that works on after its term has ended as %s', (reason, wedged) => {
    const reasons = [`the term has ended (${reason}), its work still runs`];
    expect(healthOf(standing(ending(reason)))).toEqual({ ...NOT_YET, wedged, reasons });
  });
});

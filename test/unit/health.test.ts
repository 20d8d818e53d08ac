import { describe, expect, it } from 'vitest';
import { healthOf, type SupervisorState } from '../../src/cluster/health.js';
import type { ElectorState } from '../../src/election/elector-state.js';
import type { Term } from '../../src/election/term.js';

const term = (held: boolean) => ({ isHeld: () => held }) as Term;
const standing = (state: ElectorState): SupervisorState =>
  ({ name: 'standing', elector: { state } }) as SupervisorState;

describe('health', () => {
  it.each<[string, SupervisorState, object]>([
    ['not started', { name: 'idle' }, { live: false, ready: false }],
    ['looking for a server', { name: 'connecting', attempt: 3 }, { live: true, ready: false }],
    ['taking its place', standing({ name: 'starting' }), { live: true, ready: false }],
    [
      'waiting',
      standing({ name: 'waiting', position: 1, ahead: 'a' }),
      { live: true, ready: true, leading: false },
    ],
    ['claiming', standing({ name: 'claiming' }), { live: true, ready: true, leading: false }],
    [
      'leading',
      standing({ name: 'leading', term: term(true) }),
      { live: true, ready: true, leading: true, wedged: false },
    ],
    [
      'past its lease',
      standing({ name: 'leading', term: term(false) }),
      { ready: false, leading: false, wedged: true },
    ],
    [
      'resigning',
      standing({ name: 'ending', term: term(false), reason: 'resigned' }),
      { ready: false, wedged: false },
    ],
    [
      'working on after a loss',
      standing({ name: 'ending', term: term(false), reason: 'lease-expired' }),
      { wedged: true },
    ],
    ['cleaning up', { name: 'cleaning' }, { live: true, ready: false }],
    ['stopped', { name: 'stopped' }, { live: false, ready: false }],
  ])('of one that is %s', (_, state, expected) => {
    const health = healthOf(state);
    expect(health).toMatchObject(expected);
    expect(health.reasons.length > 0).toBe(!health.ready);
  });
});

import { describe, expect, it } from 'vitest';
import type { SupervisorState } from '../../src/cluster/health.js';
import { whatIsLeft } from '../../src/cluster/shutdown.js';
import type { LeaderElector } from '../../src/election/elector.js';
import type { ElectorState } from '../../src/election/elector-state.js';
import type { Term } from '../../src/election/term.js';
import type { Session } from '../../src/session/session.js';

const settling = (state: ElectorState): SupervisorState => ({
  name: 'settling',
  elector: { state } as LeaderElector,
  session: {} as Session,
});
const ending = settling({ name: 'ending', term: { number: 7 } as Term, reason: 'stopped' });

describe('a shutdown that hangs says that', () => {
  it.each<[string, Parameters<typeof whatIsLeft>[0], SupervisorState]>([
    ['the work of term 7 still runs', 'settling', ending],
    ["the supervisor's clean-up hook still runs", 'settling', { name: 'cleaning', attempt: 2 }],
    ['the election has still to be left', 'settling', settling({ name: 'joining' })],
    ['the election has still to be left', 'settling', { name: 'connecting', attempt: 1, sinceMs: 0 }],
    ['the clean-up of the shutdown still runs', 'cleaning', ending],
    ['the place in the election has still to be given back', 'leaving', ending],
    ['the session has still to be closed', 'leaving', settling({ name: 'stopped' })],
    ['the session has still to be closed', 'leaving', settling({ name: 'expired' })],
    ['the session has still to be closed', 'leaving', { name: 'cooling' }],
  ])('%s, when it has come to %s', (left, progress, state) => {
    expect(whatIsLeft(progress, state)).toBe(left);
  });
});

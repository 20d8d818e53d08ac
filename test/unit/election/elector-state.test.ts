import { describe, expect, it } from 'vitest';
import { publicStateOf } from '../../../src/election/elector-state.js';
import type { Demotion } from '../../../src/election/term/demotion.js';
import type { ElectedTerm } from '../../../src/election/term/elected-term.js';

describe('what an application sees of the state of an elector', () => {
  const term = {} as ElectedTerm;

  it('is the state itself, but without what the elector keeps for itself while a deletion is unexplained', () => {
    const ending = { name: 'ending', term, reason: 'node-deleted' } as const;
    expect(publicStateOf(ending)).toBe(ending);
    const seen = publicStateOf({ ...ending, demotion: {} as Demotion });
    expect(seen).toEqual(ending);
    expect(Object.keys(seen)).toEqual(['name', 'term', 'reason']);
  });
});

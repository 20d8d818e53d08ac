import { describe, expect, it } from 'vitest';
import { parseReport } from './search.mjs';

/** The output of Spin's program, shortened. */
function report({ before = '', warning = '', errors = 0, unreached = '' }): string {
  return `${before}
(Spin Version 6.5.2 -- 6 December 2019)
${warning}
State-vector 148 byte, depth reached 249, errors: ${errors}
   395503 states, stored
unreached in proctype Candidate
${unreached}	(0 of 756 states)
unreached in proctype Fate
	recipe.pml:614, state 81, "-end-"
	(1 of 81 states)
unreached in claim everybody_is_done
	_spin_nvr.tmp:4, state 3, "(!((finished==3)))"
`;
}

describe("Spin's report", () => {
  it('shows that all states were visited, and how many there are', () => {
    expect(parseReport(report({}))).toEqual({
      error: undefined,
      complete: true,
      states: 395_503,
      depth: 249,
      unreached: [],
    });
  });

  it.each([
    ['memory', { before: 'pan: reached -DMEMLIM bound', warning: 'Warning: Search not completed' }],
    ['time', { before: 'Time limit of     10 minutes exceeded', warning: 'Warning: Search not completed' }],
    ['depth', { before: 'error: max search depth too small' }],
  ])('shows that the search was cut off for lack of %s', (_, parts) => {
    expect(parseReport(report(parts))).toMatchObject({ error: undefined, complete: false });
  });

  it.each(['assertion violated', 'invalid end state', 'acceptance cycle'])(
    'names what was found: %s',
    (error) => {
      const before = `pan:1: ${error} (at depth 128)\npan: wrote recipe.pml.trail`;
      expect(
        parseReport(report({ before, warning: 'Warning: Search not completed', errors: 1 })),
      ).toMatchObject({
        error,
        complete: false,
      });
    },
  );

  it('is no result if the program ended before it', () => {
    expect(parseReport('')).toMatchObject({ error: 'no result', complete: false });
  });

  it('names the statements that were never reached, but not the ends of processes that go on for ever', () => {
    const line = '	recipe.pml:139, state 33, "heir = 0"\n';
    expect(parseReport(report({ unreached: line })).unreached).toEqual([line.trim()]);
  });
});

import { describe, expect, it } from 'vitest';
import { CONTESTANTS } from '../../harness/contestants.mjs';
import { ofConclave, RIVAL, waves } from './settings.mjs';

const nameOf = ({ fault, sessionMs, who }: ReturnType<typeof ofConclave>) => `${fault}, ${sessionMs}, ${who}`;

describe('the settings of failovers', () => {
  it('name what differs from the defaults', () => {
    expect(ofConclave('killed', 6000).who).toBe('Conclave');
    expect(ofConclave('killed', 6000)).not.toHaveProperty('options');
    expect(ofConclave('killed', 4000, { leaseMs: 500 })).toMatchObject({
      who: 'Conclave, lease 0.5 s',
      options: { leaseMs: 500 },
    });
  });

  it.each([true, false])('are each measured once, of known contestants (quick: %s)', (quick) => {
    const names = waves(quick).flat().map(nameOf);
    expect(names.length).toBeGreaterThan(5);
    expect(new Set(names).size).toBe(names.length);
    const known = CONTESTANTS.map(({ name }) => name);
    expect(
      waves(quick)
        .flat()
        .filter(({ contestant }) => !known.includes(contestant)),
    ).toEqual([]);
  });

  it('have the rival beside each of its failures, with the same session timeout', () => {
    for (const wave of waves(false)) {
      const [ours, theirs] = ['Conclave', RIVAL].map((who) =>
        wave
          .filter((each) => each.who === who && each.fault !== 'revoked')
          .map(({ fault, sessionMs }) => `${fault}, ${sessionMs}`),
      );
      expect(theirs).toEqual(ours);
    }
  });

  it('have in a quick run what a promise is about, all in one wave', () => {
    const all = waves(false).flat().map(nameOf);
    const [quick = [], ...others] = waves(true);
    expect(others).toEqual([]);
    expect(quick.map(nameOf).filter((name) => !all.includes(name))).toEqual([]);
  });
});

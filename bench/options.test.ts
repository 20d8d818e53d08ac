import { describe, expect, it } from 'vitest';
import { parseOptions, ROWS } from './options.mjs';

const NAMES = ['Conclave lock', 'raw'];

describe("a benchmark's options", () => {
  it('default to a full run', () => {
    expect(parseOptions([], NAMES)).toMatchObject({
      quick: false,
      rounds: 5,
      rows: ROWS.filter((row) => row !== 'long-run'),
      out: 'bench/last-run',
    });
    expect(parseOptions(['--quick'], NAMES)).toMatchObject({ quick: true, rounds: 2 });
  });

  it('choose rows, contestants, rounds and crowds', () => {
    const args = ['--only', 'idle, handover', '--contestants', 'raw', '--rounds', '7', '--crowds', '3,5'];
    expect(parseOptions(args, NAMES)).toMatchObject({
      rows: ['idle', 'handover'],
      contestants: ['raw'],
      rounds: 7,
      crowds: [3, 5],
    });
  });

  it.each([
    [['--only', 'handovers'], /--only has 'handovers': expected some of uncontended, handover,/],
    [['--contestants', 'Raft'], /--contestants has 'Raft': expected some of Conclave lock, raw,/],
    [['--rounds', '0'], /--rounds is '0': expected a whole number, 1 or more/],
    [['--rounds', '2,3'], /--rounds is '2,3': expected a whole number/],
    [['--crowds', '15,2'], /--crowds is '15,2': expected whole numbers, 3 or more/],
    [['--out', ''], /--out is empty: expected a folder/],
    [['--fast'], /Unknown option '--fast'.*npm run bench -- --help/s],
    [['handover'], /Unexpected argument 'handover'.*npm run bench -- --help/s],
  ])('are rejected with the expected values: %j', (args, message) => {
    expect(() => parseOptions(args, NAMES)).toThrow(message);
  });
});

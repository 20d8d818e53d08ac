import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RUNS_ALL } from '../support/vitest/extent.js';
import type { Run } from './run.js';
import { violationsOf } from './violations-of.js';

const FAILING = JSON.parse(readFileSync(join(import.meta.dirname, 'failing-seeds.json'), 'utf8')) as Run[];
// An hour of shards or of stalls takes a processor four times as long as one of the others.
const LONG: readonly Run['faultRate'][] = ['shards', 'stalls'];
const DUE = RUNS_ALL ? FAILING : FAILING.filter(({ faultRate }) => !LONG.includes(faultRate));

it.each(DUE)(
  'the simulation finds nothing wrong any more with seed $seed, $faultRate faults',
  async (run) => {
    expect(await violationsOf(run)).toEqual([]);
  },
  300_000,
);

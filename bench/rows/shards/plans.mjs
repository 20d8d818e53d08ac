import { plan } from 'conclave';
import { timedProcess } from '../../harness/timed-process.mjs';

export const SHARDS = 100_000;
export const MEMBERS = 1000;
const FIRST = new URL('../processes/first-plan.mjs', import.meta.url);

/** @typedef {{ what: string, tookMs: number[] }} Plans */
/**
 * @typedef {object} FirstPlans
 * @property {number[]} plansMs
 * @property {number[]} mapsMs filling a `Map` as large as such a plan, and nothing else
 */

/** The largest plan that the documentation names: its shards and members. */
export function largestPlan() {
  const shards = Array.from({ length: SHARDS }, (_, at) => String(at));
  const members = Array.from({ length: MEMBERS }, (_, at) => ({ id: `member-${at}`, weight: 1 }));
  return { shards, members };
}

/**
 * Measures the first plan of a process, for which V8 has compiled no code yet: each in a process of its own.
 *
 * @param {number} rounds
 * @returns {Promise<FirstPlans>}
 */
export async function measureFirstPlans(rounds) {
  /** @type {FirstPlans} */
  const measured = { plansMs: [], mapsMs: [] };
  for (let round = 0; round < rounds; round++) {
    measured.plansMs.push(await first('plan'));
    measured.mapsMs.push(await first('map'));
  }
  return measured;
}

/** @param {'plan' | 'map'} what @returns {Promise<number>} */
async function first(what) {
  const { line } = await timedProcess(FIRST, [what]);
  return JSON.parse(line);
}

/**
 * Measures plans after the first one, in this process. One member joins a group whose shards are evenly shared.
 *
 * @param {number} rounds
 * @returns {Plans[]}
 */
export function measurePlans(rounds) {
  const { shards, members } = largestPlan();
  const owners = plan({ shards, members: members.slice(1) });
  const homes = new Map([...owners].filter(([, id]) => id === 'member-1'));
  const pins = new Map(shards.slice(0, 100).map((shard) => [shard, 'member-2']));
  /** @param {import('conclave').PlanInput} input */
  const times = (input) => Array.from({ length: rounds }, () => msOf(input));
  return [
    { what: 'one member joins', tookMs: times({ shards, members, owners }) },
    {
      what: 'one member is back at home, and shards are pinned',
      tookMs: times({ shards, members, owners, homes, pins }),
    },
  ];
}

/** @param {import('conclave').PlanInput} input */
function msOf(input) {
  const began = performance.now();
  plan(input);
  return performance.now() - began;
}

import { plan } from 'conclave';

export const SHARDS = 100_000;
export const MEMBERS = 1000;

/** @typedef {{ what: string, tookMs: number[] }} Plans */

/**
 * Measures, in this process, the largest plan that the documentation names. One member joins a group whose shards are evenly shared.
 *
 * @param {number} rounds
 * @returns {Plans[]} the first of all plans apart, because V8 has compiled no code for it yet
 */
export function measurePlans(rounds) {
  const shards = Array.from({ length: SHARDS }, (_, at) => String(at));
  const members = Array.from({ length: MEMBERS }, (_, at) => ({ id: `member-${at}`, weight: 1 }));
  const others = members.slice(1);
  const { took: first, planned: owners } = timed({ shards, members: others });
  const homes = new Map([...owners].filter(([, id]) => id === 'member-1'));
  const pins = new Map(shards.slice(0, 100).map((shard) => [shard, 'member-2']));
  /** @param {import('conclave').PlanInput} input */
  const again = (input) => Array.from({ length: rounds }, () => timed(input).took);
  return [
    { what: 'the first plan of a process', tookMs: [first] },
    { what: 'one member joins', tookMs: again({ shards, members, owners }) },
    {
      what: 'one member is back at home, and shards are pinned',
      tookMs: again({ shards, members, owners, homes, pins }),
    },
  ];
}

/** @param {import('conclave').PlanInput} input */
function timed(input) {
  const began = performance.now();
  const planned = plan(input);
  return { took: performance.now() - began, planned };
}

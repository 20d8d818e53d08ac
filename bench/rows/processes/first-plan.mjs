/**
 * Prints how many milliseconds the first plan of this process takes, or, with the argument `map`, filling a `Map` of the same size
 * and nothing else.
 */
import { plan } from 'conclave';
import { largestPlan } from '../shards/plans.mjs';

const { shards, members } = largestPlan();
const ids = members.map(({ id }) => id);
const began = performance.now();
if (process.argv[2] === 'map') filled();
else plan({ shards, members });
console.log(JSON.stringify(performance.now() - began));

function filled() {
  /** @type {Map<string, string>} */
  const map = new Map();
  for (let at = 0; at < shards.length; at++)
    map.set(/** @type {string} */ (shards[at]), /** @type {string} */ (ids[at % ids.length]));
  return map;
}

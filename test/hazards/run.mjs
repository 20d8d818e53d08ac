/**
 * Runs one scenario on one client: `node run.mjs 5a bare 127.0.0.1:2181`.
 *
 * Prints `held` at its very end and exits with 0 if the demand was met. If it wasn't, prints `broken: …` and exits with 1.
 * A client that throws where no caller can catch it has broken the demand, too. The process has to end by itself after the
 * scenario: a client that leaves something behind doesn't meet the demand.
 */

import { scenarios } from './scenarios/index.mjs';
import { bare } from './support/bare.mjs';
import { conclave } from './support/conclave.mjs';
import { createWorld } from './support/world.mjs';

const ENDS_WITHIN_MS = 4000;

const [id, name = '', connectString = ''] = process.argv.slice(2);
const scenario = scenarios.find((candidate) => candidate.id === id);
const subject = { conclave, bare }[name];
if (scenario === undefined || subject === undefined || connectString === '') {
  throw new Error('Usage: node run.mjs <id> <conclave|bare> <servers>');
}

/** @param {unknown} why */
function broken(why) {
  console.log(`broken: ${why}`);
  process.exit(1);
}

const world = createWorld(subject, connectString);
try {
  await scenario.run(world);
} catch (error) {
  // An assertion's message goes on with a comparison.
  broken(error instanceof Error ? error.message.split('\n')[0] : error);
}
setTimeout(
  () => broken(`the process did not end: ${process.getActiveResourcesInfo()}`),
  ENDS_WITHIN_MS,
).unref();
await world.end();
process.once('exit', (code) => {
  if (code === 0) console.log('held');
});

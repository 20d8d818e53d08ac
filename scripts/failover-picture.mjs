/**
 * Draws the README's picture from a real run. Three replicas contend on the embedded server. The script kills the first leader,
 * and stops the second leader in good order.
 *
 *     npm run picture        writes docs/images/failover.svg
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { draw } from './failover-picture/drawing.mjs';
import { run } from './failover-picture/run.mjs';

const FILE = join(import.meta.dirname, '../docs/images/failover.svg');

const measured = await run();
mkdirSync(dirname(FILE), { recursive: true });
writeFileSync(FILE, draw(measured));
for (const { id, fromMs, toMs } of measured.terms)
  console.log(`${id} led from ${Math.round(fromMs)} to ${Math.round(toMs)} ms`);
console.log(
  `Killed at ${Math.round(measured.killedAtMs)} ms, terminated at ${Math.round(measured.terminatedAtMs)} ms.`,
);

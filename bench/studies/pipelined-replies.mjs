/**
 * Measures how the time for a reply depends on the number of outstanding requests (the window):
 * `npm run build && node bench/studies/pipelined-replies.mjs`. The windows take turns. The server is another process, which
 * answers immediately.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Session } from 'conclave';
import { median } from '../harness/quantiles.mjs';

const REPLIES = 100_000;
const WINDOWS = [100, 1000, 10_000, 100_000];
const ROUNDS = Number(process.argv[2] ?? 5);

const server = spawn(process.execPath, [fileURLToPath(new URL('replying-server.mjs', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const [port] = await once(server.stdout.setEncoding('utf8'), 'data');
const connect = `127.0.0.1:${String(port).trim()}`;

const session = await Session.connect(connect, { sessionTimeoutMs: 60_000 });

/**
 * Returns the microseconds for each reply, with `window` requests outstanding at any time.
 *
 * @param {number} window
 */
async function timePerReply(window) {
  const began = performance.now();
  let asked = 0;
  const lane = async () => {
    while (asked++ < REPLIES) await session.getData('/node');
  };
  await Promise.all(Array.from({ length: window }, lane));
  return ((performance.now() - began) * 1000) / REPLIES;
}

/** @type {Map<number, number[]>} */
const measured = new Map(WINDOWS.map((window) => [window, []]));
await timePerReply(100); // Warm-up for the just-in-time compiler.
for (let round = 0; round < ROUNDS; round++) {
  for (const [window, times] of measured) times.push(await timePerReply(window));
}

console.log(`µs per reply, median of ${ROUNDS} rounds of ${REPLIES} replies`);
for (const [window, times] of measured) console.log(`  window ${window}: ${median(times).toFixed(1)}`);
const ratio = median(measured.get(100_000) ?? []) / median(measured.get(100) ?? []);
console.log(`100,000 outstanding against 100: ${ratio.toFixed(2)} times as long for each`);

await session.close({ timeoutMs: 0 });
server.stdin.end();

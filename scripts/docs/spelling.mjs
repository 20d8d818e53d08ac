import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../build/sources.mjs';

const run = promisify(execFile);

/**
 * Finds words that are neither in American English nor in `.cspell/words.txt`. cspell contains its dictionaries, so it needs no
 * network.
 *
 * @param {readonly string[]} files
 * @returns {Promise<string[]>}
 */
export async function misspeltIn(files) {
  const cspell = join(ROOT, 'node_modules/cspell/bin.mjs');
  const options = ['lint', '--no-progress', '--no-summary', '--no-color', '--no-must-find-files', ...files];
  // It ends with 1 if it finds any.
  const {
    code = 0,
    stdout,
    stderr,
  } = await run(process.execPath, [cspell, ...options], {
    ...{ cwd: ROOT, maxBuffer: 2 ** 26 },
  }).catch((error) => error);
  const found = stdout.split('\n').filter(Boolean);
  if (code !== 0 && found.length === 0) throw new Error(`cspell failed: ${stderr}`);
  return found;
}

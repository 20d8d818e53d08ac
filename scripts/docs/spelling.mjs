import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../build/sources.mjs';

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
  const { code, stdout, stderr } = await run([cspell, ...options]);
  const found = stdout.split('\n').filter(Boolean);
  if (code !== 0 && found.length === 0) throw new Error(`cspell failed: ${stderr}`);
  return found;
}

/**
 * @param {readonly string[]} args
 * @returns {Promise<{ code: number | null, stdout: string, stderr: string }>}
 */
function run(args) {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd: ROOT, maxBuffer: 2 ** 26 }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs a program that prints a line and ends by itself.
 *
 * @param {URL} script
 * @param {readonly string[]} [args]
 * @returns {Promise<{ line: string, tookMs: number }>} the line, and the time from the start of the process until the line came
 */
export async function timedProcess(script, args = []) {
  const began = performance.now();
  // With the default log level, because logging takes time too.
  const { CONCLAVE_LOG_LEVEL: _, ...env } = process.env;
  const child = spawn(process.execPath, [script.pathname, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  let tookMs = Number.NaN;
  let text = '';
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    complaints += chunk;
  });
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
    if (Number.isNaN(tookMs) && text.includes('\n')) tookMs = performance.now() - began;
  });
  const [code] = await ended;
  if (code !== 0 || Number.isNaN(tookMs))
    throw new Error(`${script.pathname} ended with ${code}: ${text}${complaints}`);
  return { line: text.slice(0, text.indexOf('\n')), tookMs };
}

/** Finds the model checker Spin, and runs searches with it. */
import { execFile, execFileSync } from 'node:child_process';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { installDebianPackages } from '../debian/packages.mjs';
import { runs } from '../environment.mjs';

const run = promisify(execFile);

// Limits of a search. A search that reaches a limit is cut off, and its result is not complete.
const MEMORY_MB = 1900;
const MINUTES = 10;
const DEPTH = 2_000_000; // Steps of one execution. If nothing bounds how often candidates act, one execution goes through most of the states.

// -DCOLLAPSE compresses states: less memory, more time.
const COMPILATION = { little: ['-O0'], some: ['-O1'], much: ['-O2', '-DCOLLAPSE'] };

/** @typedef {'little' | 'some' | 'much'} Effort for thousands of states, a million, or ten million */

/**
 * @typedef {object} Search
 * @property {string[]} defines macros for the model, as in `-D`
 * @property {'states' | 'cycles' | 'fair cycles'} kind what to look for: `states` in which an assertion fails or no
 *   process can continue; `cycles` in which the model's formula never becomes true; `fair cycles`, the cycles of that kind in
 *   which each process that can continue does so
 * @property {'promises' | 'deadlocks'} [only] the only kind of bad state to look for: failed assertions, or deadlocks
 * @property {Effort} [effort] how much to optimize the compiled search
 * @property {boolean} [story] whether to report the steps that lead to the error
 */

/**
 * @typedef {object} Finding
 * @property {string | undefined} error the error in Spin's words; `undefined` if there is none
 * @property {boolean} complete whether all states were visited
 * @property {number} states the number of stored states
 * @property {number} depth the number of steps of the longest execution
 * @property {string[]} unreached the statements that no execution reached
 * @property {number} seconds
 * @property {string[]} story the steps that lead to the error, as the model prints them
 */

/** Installs Spin and the C compiler that it needs, if they are missing. */
export function findSpin() {
  if (runs('spin', '-V') && compiles()) return;
  installDebianPackages(
    'Spin',
    ['spin', 'gcc', 'libc6-dev'],
    ['https://spinroot.com, and a C compiler named gcc'],
  );
}

/** Whether the compiler is there and finds the C library. */
function compiles() {
  try {
    const input = '#include <stdio.h>\n';
    execFileSync('gcc', ['-x', 'c', '-fsyntax-only', '-'], { input, stdio: ['pipe', 'ignore', 'ignore'] });
    return true;
  } catch {
    return false;
  }
}

/**
 * Visits every state that the model can reach, until it finds an error. Runs at low priority (`nice`).
 *
 * @param {string} model the path of the model
 * @param {Search} how
 * @returns {Promise<Finding>}
 * @throws if Spin or the compiler refuses the model
 */
export async function search(model, { defines, kind, only, effort = 'little', story = false }) {
  const folder = await mkdtemp(join(tmpdir(), 'conclave-model-'));
  const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024 };
  const name = basename(model);
  const given = defines.map((define) => `-D${define}`);
  try {
    await copyFile(model, join(folder, name));
    await run('spin', [...given, '-a', name], options);
    const compiled = [...compilation(kind), ...COMPILATION[effort], `-DMEMLIM=${MEMORY_MB}`];
    await run('nice', ['gcc', '-w', ...compiled, '-o', 'pan', 'pan.c'], options);
    const began = performance.now();
    const { stdout } = await run('nice', ['./pan', ...visiting(kind, only, effort)], options);
    const seconds = (performance.now() - began) / 1000;
    const finding = { ...parseReport(stdout), seconds };
    const steps = story && finding.error !== undefined ? await replay(name, given, options) : [];
    return { ...finding, story: steps };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {Search['kind']} kind */
function compilation(kind) {
  if (kind === 'states') return ['-DSAFETY', '-DNOCLAIM'];
  // Fairness takes one bit for each process. Three bytes are enough for all processes.
  return kind === 'fair cycles' ? ['-DNFAIR=3'] : ['-DNOFAIR'];
}

/**
 * @param {Search['kind']} kind
 * @param {Search['only']} only
 * @param {Effort} effort
 */
function visiting(kind, only, effort) {
  const options = [`-m${DEPTH}`, `-Q${MINUTES}`, effort === 'much' ? '-w25' : '-w20'];
  if (kind !== 'states') options.push('-a');
  if (kind === 'fair cycles') options.push('-f');
  if (only === 'promises') options.push('-E');
  if (only === 'deadlocks') options.push('-A');
  return options;
}

/**
 * Reads the output of the search program that Spin generates.
 *
 * @param {string} report
 */
export function parseReport(report) {
  const errors = /errors: (\d+)/.exec(report)?.[1];
  const error = /^pan:\d+: (assertion violated|invalid end state|acceptance cycle)/m.exec(report)?.[1];
  const cutOff = /Search not completed|max search depth too small/.test(report);
  return {
    error: error ?? (errors === undefined ? 'no result' : errors === '0' ? undefined : 'something else'),
    complete: errors === '0' && !cutOff,
    states: Number(/([\d.e+]+) states, stored/.exec(report)?.[1] ?? 0),
    depth: Number(/depth reached (\d+)/.exec(report)?.[1] ?? 0),
    unreached: unreachedIn(report),
  };
}

/**
 * Leaves out the ends of processes, because some processes never end.
 *
 * @param {string} report
 */
function unreachedIn(report) {
  const sections = report.split(/^unreached in /m).slice(1);
  return sections
    .filter((section) => section.startsWith('proctype') || section.startsWith('init'))
    .flatMap((section) => section.match(/^\t\S+:\d+, state .*$/gm) ?? [])
    .filter((line) => !line.endsWith('"-end-"'))
    .map((line) => line.trim());
}

/**
 * @param {string} name
 * @param {string[]} given
 * @param {{ cwd: string, maxBuffer: number }} options
 */
async function replay(name, given, options) {
  // -T: no indentation by process. -B: without the final state.
  const { stdout } = await run('spin', [...given, '-t', '-T', '-B', name], options);
  return stdout.split('\n').filter((line) => /\bcandidate \d|\btime passes\b|\bstranger\b/.test(line));
}

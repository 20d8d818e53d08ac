/** Finds the model checker Spin, and searches a model's states with it. */
import { execFile, execFileSync } from 'node:child_process';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { installDebianPackages } from '../debian/packages.mjs';
import { runs } from '../environment.mjs';

const run = promisify(execFile);

// What a search may take: beyond it, it is cut off, and says so.
const MEMORY_MB = 1900;
const MINUTES = 10;
const DEPTH = 10_000;

// States take less memory when they are collapsed, and more time.
const COMPILATION = { little: ['-O0'], some: ['-O1'], much: ['-O2', '-DCOLLAPSE'] };

/** @typedef {'little' | 'some' | 'much'} Effort what pays for thousands of states, a million, or ten */

/**
 * @typedef {object} Search
 * @property {string[]} defines what is defined for the model, as in `-D`
 * @property {'states' | 'cycles' | 'fair cycles'} kind what is looked for: a state in which a promise is broken or nothing
 *   can go on; or a cycle in which the model's formula never comes true, a fair one, or any
 * @property {'promises' | 'deadlocks'} [only] which kind of bad state, if only one counts
 * @property {Effort} [effort] how much to spend on the compilation, for a search that goes faster
 * @property {boolean} [story] whether to tell the way to what is found
 */

/**
 * @typedef {object} Finding
 * @property {string | undefined} error what was found, in Spin's words; `undefined` if nothing
 * @property {boolean} complete whether all states were visited
 * @property {number} states how many were stored
 * @property {number} depth how many steps the longest way has
 * @property {string[]} unreached the statements that no way came to
 * @property {number} seconds
 * @property {string[]} story what happens on the way to what was found, as the model tells it
 */

/** Installs Spin, and the compiler that it needs, if they have to be installed and can be. */
export function findSpin() {
  if (runs('spin', '-V') && compiles()) return;
  installDebianPackages(
    'Spin',
    ['spin', 'gcc', 'libc6-dev'],
    ['https://spinroot.com, and a C compiler named gcc'],
  );
}

/** A compiler alone isn't enough: it has to find the C library. */
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
 * Visits every state that the model can come to, or goes on until it has found something. Leaves the processors to
 * whatever else is to be done.
 *
 * @param {string} model the path of the model
 * @param {Search} how
 * @returns {Promise<Finding>}
 * @throws if Spin or the compiler refuse the model
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
    const told = story && finding.error !== undefined ? await tell(name, given, options) : [];
    return { ...finding, story: told };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @param {Search['kind']} kind */
function compilation(kind) {
  if (kind === 'states') return ['-DSAFETY', '-DNOCLAIM'];
  // Fairness is kept in a bit for each process, of which three bytes have enough.
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
 * What the program that Spin wrote has printed.
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
 * But for the ends of processes: some go on for ever.
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
async function tell(name, given, options) {
  // Without the indentation by process, and without the last state.
  const { stdout } = await run('spin', [...given, '-t', '-T', '-B', name], options);
  return stdout.split('\n').filter((line) => /\bcandidate \d/.test(line));
}

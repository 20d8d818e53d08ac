/** Whom the benchmark measures, and how each is started: `bench/peers/README.md` has what they do. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findCuratorClassPath, findGo, findKazoo } from '../../tools/peers/installed.mjs';

const ROOT = join(import.meta.dirname, '../..');
const PEERS = join(ROOT, 'bench/peers');
// Below node_modules, so that nobody has to ignore it.
const COMPILED = join(ROOT, 'node_modules/.cache/bench-peers');

/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {'lock' | 'election'} kind what it is compared with
 * @property {string} recipe what its program is to contend with
 * @property {import('./handovers.mjs').Pace} [floor] it is what nobody can be faster than, at that pace: at once the next one has
 *   to look, after a while it may know
 * @property {true} [keeps] of a floor: it sends what Conclave's promises take, so it is what Conclave can't be faster than
 * @property {() => string[]} command what starts it, but for the arguments. Installs and compiles what it needs
 */

const conclave = () => [process.execPath, join(PEERS, 'conclave.mjs')];
const raw = () => [process.execPath, join(PEERS, 'raw.mjs')];
const floor = () => [process.execPath, join(PEERS, 'floor.mjs')];
const go = once(() => {
  const program = join(COMPILED, 'go-peer');
  const source = join(PEERS, 'go/peer.go');
  const [compiler = '', ...options] = findGo();
  if (isNewer(source, program)) compile(compiler, ...options, 'build', '-o', program, source);
  return [program];
});
const curator = once(() => {
  const classPath = findCuratorClassPath();
  const source = join(PEERS, 'Curator.java');
  if (isNewer(source, join(COMPILED, 'Curator.class')))
    compile('javac', '-d', COMPILED, '-cp', classPath, source);
  // A thousand sessions have five threads each.
  return ['java', '-Xmx2g', '-Xss256k', '-cp', `${COMPILED}:${classPath}`, 'Curator'];
});
const kazoo = once(() => [...findKazoo(), join(PEERS, 'kazoo_peer.py')]);

/** @type {readonly Contestant[]} */
export const CONTESTANTS = [
  { name: 'Conclave lock', kind: 'lock', recipe: 'lock', command: conclave },
  { name: 'raw', kind: 'lock', recipe: 'lock', command: raw },
  { name: 'go-zookeeper Lock', kind: 'lock', recipe: 'lock', command: go },
  { name: 'Curator InterProcessMutex', kind: 'lock', recipe: 'mutex', command: curator },
  { name: 'kazoo Lock', kind: 'lock', recipe: 'lock', command: kazoo },
  { name: 'Conclave election', kind: 'election', recipe: 'election', command: conclave },
  { name: 'Curator LeaderLatch', kind: 'election', recipe: 'latch', command: curator },
  { name: 'ready-made packets', kind: 'lock', recipe: 'lock', floor: 'at once', command: floor },
  {
    name: 'packets without a listing',
    kind: 'lock',
    recipe: 'lock-known',
    floor: 'after a while',
    command: floor,
  },
  { name: 'ready-made claims', kind: 'election', recipe: 'election', floor: 'at once', command: floor },
  {
    name: 'claims without a listing',
    kind: 'election',
    recipe: 'election-known',
    floor: 'after a while',
    command: floor,
  },
  {
    name: 'Conclave packets',
    kind: 'lock',
    recipe: 'lock-kept',
    floor: 'at once',
    keeps: true,
    command: floor,
  },
  {
    name: 'Conclave packets without a listing',
    kind: 'lock',
    recipe: 'lock-kept-known',
    floor: 'after a while',
    keeps: true,
    command: floor,
  },
  {
    name: 'Conclave claims',
    kind: 'election',
    recipe: 'election-kept',
    floor: 'at once',
    keeps: true,
    command: floor,
  },
  {
    name: 'Conclave claims without a listing',
    kind: 'election',
    recipe: 'election-kept-known',
    floor: 'after a while',
    keeps: true,
    command: floor,
  },
];

/**
 * Those that can be started here. One whose packages can't be had is left out.
 *
 * @param {(line: string) => void} say is told who is left out, and how to get it
 * @param {(contestant: Contestant) => boolean} [suits] others are not looked for
 * @returns {(Omit<Contestant, 'command'> & { command: string[] })[]}
 */
export function findContestants(say, suits = () => true) {
  return CONTESTANTS.filter(suits).flatMap((contestant) => {
    try {
      return [{ ...contestant, command: contestant.command() }];
    } catch (error) {
      say(`${contestant.name} is left out. ${error instanceof Error ? error.message : error}`);
      return [];
    }
  });
}

/** @param {string} source @param {string} compiled */
function isNewer(source, compiled) {
  const madeAt = statSync(compiled, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
  return statSync(source).mtimeMs > madeAt;
}

/** @param {string} compiler @param {string[]} args */
function compile(compiler, ...args) {
  mkdirSync(COMPILED, { recursive: true });
  execFileSync(compiler, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/**
 * Also what it throws is kept: nobody has to hear twice that something can't be installed.
 *
 * @template T
 * @param {() => T} find
 * @returns {() => T}
 */
function once(find) {
  /** @type {{ value: T } | { error: unknown } | undefined} */
  let outcome;
  return () => {
    if (outcome === undefined) {
      try {
        outcome = { value: find() };
      } catch (error) {
        outcome = { error };
      }
    }
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  };
}

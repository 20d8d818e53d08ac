/** The clients that the benchmark compares (contestants), and the commands that start their programs. See `bench/peers/README.md`. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findCuratorClassPath, findEtcd, findGo, findKazoo } from '../../tools/peers/installed.mjs';

const ROOT = join(import.meta.dirname, '../..');
const PEERS = join(ROOT, 'bench/peers');
// Below node_modules, which git ignores.
const COMPILED = join(ROOT, 'node_modules/.cache/bench-peers');

/**
 * @typedef {object} Contestant
 * @property {string} name
 * @property {'lock' | 'election' | 'failover'} kind the kind of contestants that it is compared with. `failover`: it is measured after
 *   failures only, because its program hands nothing over
 * @property {string} recipe the recipe that its program uses
 * @property {import('./handovers.mjs').Pace} [lowerBound] the pace at which it is a lower bound: no client on Node can be faster.
 *   At once, the next contender must list the queue, or read the record. After a while, it may know that it is next
 * @property {true} [keeps] whether a lower bound sends all requests that Conclave's guarantees need. It is then a lower bound for Conclave
 * @property {() => string[]} command the command that starts it, without the arguments. The call installs and compiles the program where
 *   necessary
 */

/** @param {string} program */
const node = (program) => () => [process.execPath, join(PEERS, program)];
const conclave = node('conclave.mjs');
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
  // Enough for a thousand sessions with five threads each.
  return ['java', '-Xmx2g', '-Xss256k', '-cp', `${COMPILED}:${classPath}`, 'Curator'];
});
const kazoo = once(() => [...findKazoo(), join(PEERS, 'kazoo_peer.py')]);
const etcd = once(() => {
  findEtcd();
  return node('etcd.mjs')();
});
/** The only contestant that isn't a client of ZooKeeper. */
export const ETCD = 'etcd election';

const PACKETS = /** @type {const} */ ({ kind: 'lock', command: node('ready-made-packets.mjs') });
const TERMS = {
  ...{ kind: /** @type {const} */ ('election'), lowerBound: /** @type {const} */ ('at once') },
  command: node('ready-made-terms.mjs'),
};
const KEEPS = /** @type {const} */ ({ keeps: true });

/** @type {readonly Contestant[]} */
export const CONTESTANTS = [
  { name: 'Conclave lock', kind: 'lock', recipe: 'lock', command: conclave },
  { name: 'raw', kind: 'lock', recipe: 'lock', command: node('raw.mjs') },
  { name: 'go-zookeeper Lock', kind: 'lock', recipe: 'lock', command: go },
  { name: 'Curator InterProcessMutex', kind: 'lock', recipe: 'mutex', command: curator },
  { name: 'kazoo Lock', kind: 'lock', recipe: 'lock', command: kazoo },
  { name: 'Conclave election', kind: 'election', recipe: 'election', command: conclave },
  { name: 'Curator LeaderLatch', kind: 'election', recipe: 'latch', command: curator },
  { name: 'kazoo Election', kind: 'failover', recipe: 'election', command: kazoo },
  { name: ETCD, kind: 'failover', recipe: 'election', command: etcd },
  { ...PACKETS, name: 'ready-made packets', recipe: 'lock', lowerBound: 'at once' },
  { ...PACKETS, name: 'packets without a listing', recipe: 'lock-known', lowerBound: 'after a while' },
  { ...TERMS, name: 'ready-made terms', recipe: 'election' },
  { ...PACKETS, ...KEEPS, name: 'Conclave packets', recipe: 'lock-kept', lowerBound: 'at once' },
  {
    ...PACKETS,
    ...KEEPS,
    name: 'Conclave packets without a listing',
    recipe: 'lock-kept-known',
    lowerBound: 'after a while',
  },
  { ...TERMS, ...KEEPS, name: 'Conclave terms', recipe: 'election-kept' },
];

/**
 * The contestants that can be started on this machine. A contestant whose packages can't be installed is left out.
 *
 * @param {(line: string) => void} say is called with each contestant that is left out, and how to install it
 * @param {(contestant: Contestant) => boolean} [suits] whether to look for a contestant
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
 * Calls `find` once, and returns or throws its outcome again after that. So the benchmark tries only once to install a package.
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

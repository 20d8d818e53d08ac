import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';

const PACKAGES = {
  ZooKeeper: 'zookeeper',
  Curator: 'libcurator-recipes-java',
  kazoo: 'python3-kazoo',
  'go-zookeeper': 'golang-github-samuel-go-zookeeper-dev',
  etcd: 'etcd-server',
};

/**
 * The machine on which the figures were measured.
 *
 * @typedef {object} Machine
 * @property {string} processor
 * @property {number} cores
 * @property {number} memoryGb
 * @property {string} kernel
 * @property {Record<string, string>} versions
 */

/** @returns {Machine} */
export function describeMachine() {
  const processors = cpus();
  return {
    processor: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryGb: Number((totalmem() / 2 ** 30).toFixed(1)),
    kernel: `${type()} ${release()}`,
    versions: {
      Node: process.version,
      Java: firstLine('java', '--version'),
      Go: firstLine('go', 'version').replace(/^go version /, ''),
      Python: firstLine('/usr/bin/python3', '--version').replace(/^Python /, ''),
      ...Object.fromEntries(Object.entries(PACKAGES).map(([name, debian]) => [name, debianVersion(debian)])),
    },
  };
}

/** @typedef {{ load: number, stolenTicks: number, allTicks: number }} Moment how busy the machine is with other things */

/** @returns {Moment} */
export function moment() {
  const ticks = readStat();
  return {
    load: Number((loadavg()[0] ?? Number.NaN).toFixed(2)),
    // user, nice, system, idle, iowait, irq, softirq, steal. User contains the time of guests.
    stolenTicks: ticks[7] ?? Number.NaN,
    allTicks: ticks.slice(0, 8).reduce((sum, count) => sum + count, 0),
  };
}

function readStat() {
  try {
    const [, ...counts] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.trim().split(/\s+/) ?? [];
    return counts.map(Number);
  } catch {
    return []; // Only Linux has this file.
  }
}

/** @param {string} name */
function debianVersion(name) {
  return firstLine('dpkg-query', '--show', name).split('\t')[1] ?? 'unknown';
}

/** @param {string} command @param {string[]} args */
function firstLine(command, ...args) {
  try {
    const output = execFileSync(command, args, { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' });
    return output.split('\n', 1)[0]?.trim() || 'unknown';
  } catch {
    return 'unknown';
  }
}

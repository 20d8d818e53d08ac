import { execFile, execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { findIptables } from '../../../tools/iptables/program.mjs';
import type { Way } from './schedule.js';

const run = promisify(execFile);

const PREFIX = 'conclave-chaos';
const NAMES = '/var/run/netns';
const LOST = ['-j', 'DROP'];
// An RST isn't answered with an RST: it has to arrive, so that both ends of a connection learn of its end.
const RESET = ['-p', 'tcp', '!', '--tcp-flags', 'RST', 'RST', '-j', 'REJECT', '--reject-with', 'tcp-reset'];

/** Ends a fault. */
export type Mend = () => unknown;
/** From one end of the network to another one, by their numbers. */
export type OneWay = readonly [from: number, to: number];

/** The ways between two ends: both, the one to the other (`there`), or the one back. */
export function waysBetween(one: number, other: number, way: Way): readonly OneWay[] {
  const there = [one, other] as const;
  const back = [other, one] as const;
  return way === 'both' ? [there, back] : [way === 'there' ? there : back];
}

/**
 * A network of its own for each end, with a cable to one bridge, on which this process is, too. So packets between two ends can be lost as on
 * a wire: without notice to either end, and in one direction if need be. TCP sends them again when the fault is over. Several faults may
 * come at once: each lasts until it is mended.
 */
export class Network {
  readonly #bridge = `ccb${process.pid}`;
  readonly #subnet: string;
  readonly #size: number;
  readonly #unplugged = new Map<number, number>();

  private constructor(size: number) {
    this.#size = size;
    // Addresses that a private network rarely has, by process: several runs may go on at once.
    this.#subnet = `10.${213 + (process.pid % 40)}.${Math.floor(process.pid / 40) % 250}`;
  }

  /**
   * @param size - of how many ends, which are numbered from 1
   * @throws the error of the command that the machine doesn't allow; nothing is left behind then
   */
  static async open(size: number): Promise<Network> {
    removeAbandoned();
    const network = new Network(size);
    try {
      await network.#lay();
    } catch (error) {
      network.close();
      throw error;
    }
    process.once('exit', () => network.close());
    return network;
  }

  async #lay(): Promise<void> {
    await ip('link', 'add', this.#bridge, 'type', 'bridge');
    await ip('addr', 'add', `${this.#subnet}.254/24`, 'dev', this.#bridge);
    await ip('link', 'set', this.#bridge, 'up');
    for (let end = 1; end <= this.#size; end++) {
      const name = nameOf(process.pid, end);
      const near = cableOf(process.pid, end);
      await ip('netns', 'add', name);
      await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      await ip('link', 'set', near, 'master', this.#bridge, 'up');
      await ip('-n', name, 'addr', 'add', `${this.addressOf(end)}/24`, 'dev', 'eth0');
      await ip('-n', name, 'link', 'set', 'eth0', 'up');
      await ip('-n', name, 'link', 'set', 'lo', 'up');
    }
    findIptables();
    await this.#iptables(1, ['-L']);
  }

  addressOf(end: number): string {
    return `${this.#subnet}.${end}`;
  }

  /** The command that runs a command at an end of the network, and becomes it. */
  launcherOf(end: number): string[] {
    return ['ip', 'netns', 'exec', nameOf(process.pid, end)];
  }

  /** No packet arrives on these ways. */
  async cut(ways: readonly OneWay[]): Promise<Mend> {
    return await this.#meet(ways, LOST);
  }

  /** What arrives on these ways is answered with an RST, as by a host that knows of no connection. */
  async reset(ways: readonly OneWay[]): Promise<Mend> {
    return await this.#meet(ways, RESET);
  }

  /** Takes out the cable of an end, which notices. */
  async unplug(end: number): Promise<Mend> {
    await this.#plug(end, 1);
    return () => this.#plug(end, -1);
  }

  close(): void {
    for (let end = 1; end <= this.#size; end++) remove(process.pid, end);
    removeNow('link', 'del', this.#bridge);
  }

  /** What is done with the packets on these ways where they arrive. */
  async #meet(ways: readonly OneWay[], target: readonly string[]): Promise<Mend> {
    const rules = [...new Set(ways.map(([, to]) => to))].map((end) => {
      const sources = ways.filter(([, to]) => to === end).map(([from]) => this.addressOf(from));
      return { end, rule: ['INPUT', '-s', sources.join(','), ...target] };
    });
    const change = (action: '-A' | '-D') =>
      Promise.all(rules.map(({ end, rule }) => this.#iptables(end, [action, ...rule])));
    await change('-A');
    return () => change('-D');
  }

  async #iptables(end: number, args: readonly string[]): Promise<void> {
    await ip('netns', 'exec', nameOf(process.pid, end), 'iptables', '-w', ...args);
  }

  async #plug(end: number, by: number): Promise<void> {
    const faults = (this.#unplugged.get(end) ?? 0) + by;
    this.#unplugged.set(end, faults);
    await ip('link', 'set', cableOf(process.pid, end), faults > 0 ? 'down' : 'up');
  }
}

/** Why this machine allows no such network; `undefined` if it does. */
export async function whyNoNetwork(): Promise<string | undefined> {
  try {
    (await Network.open(1)).close();
    return undefined;
  } catch (error) {
    return reasonOf(error as Error);
  }
}

/** The last line, in which a command says what it couldn't do. */
export function reasonOf({ message }: Error): string {
  return message.trim().split('\n').at(-1) ?? '';
}

function nameOf(pid: number, end: number): string {
  return `${PREFIX}-${pid}-${end}`;
}

/** The end of the cable at the bridge. */
function cableOf(pid: number, end: number): string {
  return `ccv${pid}-${end}`;
}

async function ip(...args: string[]): Promise<void> {
  await run('ip', args);
}

function remove(pid: number, end: number): void {
  // The network itself stays until its last process is gone: its cable is taken out now.
  removeNow('link', 'del', cableOf(pid, end));
  removeNow('netns', 'del', nameOf(pid, end));
}

/** Removes it, if it is there. */
function removeNow(...args: string[]): void {
  try {
    execFileSync('ip', args, { stdio: 'ignore' });
  } catch {
    // It wasn't there.
  }
}

/** The networks of runs that were killed: their processes are gone. */
function removeAbandoned(): void {
  for (const name of namespaces()) {
    const [, pid, end] = new RegExp(`^${PREFIX}-(\\d+)-(\\d+)$`).exec(name)?.map(Number) ?? [];
    if (pid === undefined || end === undefined || isAlive(pid)) continue;
    remove(pid, end);
    removeNow('link', 'del', `ccb${pid}`);
  }
}

function namespaces(): string[] {
  try {
    return readdirSync(NAMES);
  } catch {
    return []; // There has never been one.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

import { execFile, execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A hardware address that no interface has: the bridge floods the frame, and no interface takes it. */
const UNUSED_MAC = '02:00:00:00:00:fe';
const PREFIX = 'conclave-chaos';
const NAMES = '/var/run/netns';

/**
 * A network of its own for each server; all of them and this process are on one bridge. So packets between two servers can
 * be lost as on a wire: without notice to either server, and in one direction if need be. TCP sends them again when the
 * fault is over.
 */
export class Network {
  readonly #bridge = `ccb${process.pid}`;
  readonly #subnet: string;
  readonly #size: number;
  readonly #cuts = new Map<string, number>();

  private constructor(size: number) {
    this.#size = size;
    // Addresses that a private network rarely has, by process: several runs may go on at once.
    this.#subnet = `10.${213 + (process.pid % 40)}.${Math.floor(process.pid / 40) % 250}`;
  }

  /** @throws the error of `ip`, if the machine doesn't allow it; nothing is left behind then */
  static async open(size: number): Promise<Network> {
    await removeAbandoned();
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
    for (let id = 1; id <= this.#size; id++) {
      const name = this.#nameOf(id);
      const near = this.#cableOf(id);
      await ip('netns', 'add', name);
      await ip('link', 'add', near, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      await ip('link', 'set', near, 'master', this.#bridge, 'up');
      await ip('-n', name, 'addr', 'add', `${this.addressOf(id)}/24`, 'dev', 'eth0');
      await ip('-n', name, 'link', 'set', 'eth0', 'up');
      await ip('-n', name, 'link', 'set', 'lo', 'up');
    }
  }

  addressOf(id: number): string {
    return `${this.#subnet}.${id}`;
  }

  /** The command that runs a command in a server's network, and becomes it. */
  launcherOf(id: number): string[] {
    return ['ip', 'netns', 'exec', this.#nameOf(id)];
  }

  /** From now on no packet from `from` arrives at `to`. Several faults may cut the same way: it works again after all of them. */
  async cut(from: number, to: number): Promise<void> {
    if (this.#count(from, to, 1) === 1)
      await ip(
        '-n',
        this.#nameOf(from),
        'neigh',
        'replace',
        ...this.#entry(to),
        'lladdr',
        UNUSED_MAC,
        'nud',
        'permanent',
      );
  }

  async mend(from: number, to: number): Promise<void> {
    if (this.#count(from, to, -1) === 0)
      await ip('-n', this.#nameOf(from), 'neigh', 'del', ...this.#entry(to));
  }

  close(): void {
    for (let id = 1; id <= this.#size; id++) {
      // The network itself stays until its last process is gone: its cable is taken out now.
      removeNow('link', 'del', this.#cableOf(id));
      removeNow('netns', 'del', this.#nameOf(id));
    }
    removeNow('link', 'del', this.#bridge);
  }

  #nameOf(id: number): string {
    return `${PREFIX}-${process.pid}-${id}`;
  }

  /** This process's end of the link from a server to the bridge. */
  #cableOf(id: number): string {
    return `ccv${process.pid}-${id}`;
  }

  #entry(to: number): string[] {
    return [this.addressOf(to), 'dev', 'eth0'];
  }

  #count(from: number, to: number, by: number): number {
    const way = `${from}-${to}`;
    const count = (this.#cuts.get(way) ?? 0) + by;
    this.#cuts.set(way, count);
    return count;
  }
}

async function ip(...args: string[]): Promise<void> {
  await run('ip', args);
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
async function removeAbandoned(): Promise<void> {
  for (const name of namespaces()) {
    const pid = Number(new RegExp(`^${PREFIX}-(\\d+)-\\d+$`).exec(name)?.[1]);
    if (Number.isNaN(pid) || isAlive(pid)) continue;
    removeNow('netns', 'del', name);
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

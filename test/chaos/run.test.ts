import { describe, expect, it, onTestFailed, onTestFinished } from 'vitest';
import { revokeLeader } from '../../src/election/revoke-leader.js';
import {
  type Activity,
  ActivityLog,
  isAlive,
  machineNowMs,
  RunningCommand,
  STUBBORN,
} from '../support/conclave/running-command.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { startProxy } from '../support/faults/start-proxy.js';
import type { TcpProxy } from '../support/faults/tcp-proxy.mjs';
import { overlapsIn } from '../support/history/overlaps.js';
import { RUNS_ALL } from '../support/vitest/extent.js';
import { until } from '../support/waiting.mjs';

// By hand: SOAK_ROUNDS=100 npx vitest run test/chaos/run.test.ts
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? (RUNS_ALL ? 20 : 4));
const SESSION_TIMEOUT_MS = 4500;
const LEASE_MS = SESSION_TIMEOUT_MS / 3;

/** `conclave run --restart`, behind a proxy of its own. */
class Replica {
  readonly name: string;
  readonly proxy: TcpProxy;
  readonly #words: readonly string[];
  #runner: RunningCommand;

  private constructor(name: string, proxy: TcpProxy, path: string, log: ActivityLog) {
    this.name = name;
    this.proxy = proxy;
    this.#words = [
      ...['run', path, '-v', '--restart', '--id', name, '--grace', '200ms'],
      ...['--session-timeout', String(SESSION_TIMEOUT_MS), '--', process.execPath, STUBBORN, log.file],
    ];
    this.#runner = this.#start();
  }

  static async start(name: string, path: string, log: ActivityLog): Promise<Replica> {
    return new Replica(name, await startProxy(), path, log);
  }

  get runner(): RunningCommand {
    return this.#runner;
  }

  /** Starts another one in the place of a killed one. */
  async replace(): Promise<void> {
    expect(await this.#runner.exit()).toBe('SIGKILL');
    this.#runner = this.#start();
  }

  #start(): RunningCommand {
    return new RunningCommand(this.#words, { connect: this.proxy.connectString });
  }
}

/** The faults of a leader whose command and grandchild ignore SIGTERM, and how each fault ends. */
interface Fault {
  begin(leader: Replica, command: Activity): unknown;
  end?(leader: Replica): unknown;
  /** Whether the leader's lease isn't renewed from then on: then the command is gone within a lease. */
  readonly endsLease?: true;
}

const FAULTS = (path: string): Record<string, Fault> => ({
  'asked to step down': {
    begin: async () => void (await revokeLeader(await openSession(), path)),
  },
  'command killed': { begin: (_, { pid }) => kill(pid, 'SIGKILL') },
  'runner stopped': {
    begin: ({ runner }) => runner.signal('SIGSTOP'),
    end: ({ runner }) => runner.signal('SIGCONT'),
    endsLease: true,
  },
  'link black-holed': {
    begin: ({ proxy }) => proxy.partition(),
    end: ({ proxy }) => proxy.restore(),
    endsLease: true,
  },
});

const KILLINGS: Record<string, Fault> = {
  'runner killed': {
    begin: ({ runner }) => runner.signal('SIGKILL'),
    end: (leader) => leader.replace(),
    endsLease: true,
  },
  'keeper killed': { begin: ({ runner }) => kill(runner.keeperPid, 'SIGKILL') },
  'keeper stopped and link black-holed': {
    begin: ({ runner, proxy }) => {
      kill(runner.keeperPid, 'SIGSTOP');
      proxy.partition();
    },
    end: ({ proxy }) => proxy.restore(),
    endsLease: true,
  },
};

/** A term may end by itself on a busy machine. A process that has ended meanwhile needs no signal any more. */
function kill(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid !== undefined && isAlive(pid)) process.kill(pid, signal);
}

describe('conclave run', () => {
  it(`never runs two commands at once, whatever befalls the leader (${ROUNDS} rounds and more)`, {
    timeout: 60_000 + ROUNDS * 8000,
  }, async () => {
    const path = uniquePath('run');
    const log = new ActivityLog();
    const replicas = [await Replica.start('one', path, log), await Replica.start('two', path, log)];
    const faults = Object.entries(FAULTS(path));
    const rounds = Array.from(
      { length: ROUNDS },
      (_, round) => faults[round % faults.length] as [string, Fault],
    );
    const reports: string[] = [];
    onTestFailed(() =>
      console.log(reports.join('\n'), ...replicas.map(({ runner }) => `\n${runner.stderr}`)),
    );
    for (const [name, fault] of [...rounds, ...Object.entries(KILLINGS)]) {
      await until(() => log.newest().length > 0, 'a command that runs, and its child');
      const acts = log.newest();
      const { term, candidate } = acts[0] as Activity;
      const leader = replicas.find((replica) => replica.name === candidate) as Replica;
      const command = acts.find(({ role }) => role === 'child') as Activity;
      // A runner whose terms are lost at once, one after the other, stays out of the election.
      const lostAtOnceUntil = (acts[0] as Activity).atMs + 2 * LEASE_MS;
      if (fault.endsLease) await until(() => machineNowMs() > lostAtOnceUntil, 'a term that has lasted');
      const beganAt = machineNowMs();
      await fault.begin(leader, command);
      await until(() => (log.newest()[0]?.term ?? 0) > term, `another command after '${name}'`);
      const former = log.terms().get(term) as readonly Activity[];
      const lastedMs = (former.at(-1) as Activity).atMs - beganAt;
      expect(new Set(former.map(({ pid }) => pid)).size, name).toBe(2);
      for (const pid of new Set(former.map((act) => act.pid))) expect(isAlive(pid), name).toBe(false);
      if (fault.endsLease) expect(lastedMs, name).toBeLessThan(LEASE_MS);
      const gapMs = (log.newest()[0] as Activity).atMs - beganAt - lastedMs;
      reports.push(
        `${name}: gone ${Math.round(lastedMs)} ms after, the next ${Math.round(gapMs)} ms after that`,
      );
      await fault.end?.(leader);
    }
    console.log(reports.join('\n'));
    expect(overlaps(log.terms())).toEqual([]);
  });
});

describe('a host that stands still for longer than a lease, with the runner, the keeper and the command', () => {
  /** `conclave run` with a command and its child, and another one that waits. */
  async function runTwo(options: readonly string[]) {
    const log = new ActivityLog();
    const words = ['run', uniquePath('run'), '-v', '--session-timeout', String(SESSION_TIMEOUT_MS)];
    const command = ['--', process.execPath, STUBBORN, log.file];
    const runner = new RunningCommand([...words, ...options, ...command]);
    await until(() => log.newest().length > 0, 'a command that runs, and its child');
    const next = new RunningCommand([...words, ...options, ...command]);
    await until(() => next.stderr.includes('waiting'), 'a place in the queue');
    const commands = [...new Set(log.newest().map(({ pid }) => pid))];
    const host = [...commands, runner.pid, runner.keeperPid]; // The keeper is the last to go on.
    const signal = (name: NodeJS.Signals) => {
      for (const pid of host) kill(pid, name);
    };
    onTestFinished(() => signal('SIGCONT')); // Also when the test fails, because stopped processes would stay.
    return { log, runner, commands, signal };
  }

  it('goes on beside the next command until its keeper ends the command, well within a lease', async () => {
    const { log, runner, commands, signal } = await runTwo([]);
    signal('SIGSTOP');
    const stoppedAt = machineNowMs();
    await until(() => (log.newest()[0]?.term ?? 0) > 1, 'the next command');
    expect(machineNowMs() - stoppedAt).toBeLessThan(SESSION_TIMEOUT_MS);
    const resumedAt = machineNowMs();
    signal('SIGCONT');
    expect(await runner.exit()).toBe(76);
    expect(commands.filter(isAlive)).toEqual([]);
    const lastAct = log.terms().get(1)?.at(-1) as Activity;
    console.log(`acted for the last time ${Math.round(lastAct.atMs - resumedAt)} ms after it went on`);
    expect(lastAct.atMs - resumedAt).toBeLessThan(LEASE_MS / 2);
  });

  it('goes on alone if it stood still for less than the --takeover-delay of the next one', async () => {
    const { log, runner, commands, signal } = await runTwo(['--takeover-delay', String(SESSION_TIMEOUT_MS)]);
    signal('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS)); // Enough to be replaced by the lease.
    expect(log.newest()[0]?.term).toBe(1);
    signal('SIGCONT');
    expect(await runner.exit()).toBe(76);
    expect(commands.filter(isAlive)).toEqual([]);
    await until(() => (log.newest()[0]?.term ?? 0) > 1, 'the next command');
    expect(overlaps(log.terms())).toEqual([]);
  });
});

/** The pairs of terms in which two commands acted at the same time. */
function overlaps(terms: ReadonlyMap<number, readonly Activity[]>): unknown[] {
  const spans = [...terms].map(([term, acts]) => {
    const times = acts.map(({ atMs }) => atMs);
    return { term, from: times.reduce((a, b) => Math.min(a, b)), to: times.reduce((a, b) => Math.max(a, b)) };
  });
  return overlapsIn(spans.sort((a, b) => a.term - b.term));
}

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { WallClock } from '../../chaos/nemesis/wall-clock.js';
import { temporaryFolder } from '../temporary-folder.js';
import { onTestFinished } from '../vitest/test-end.js';
import { deferred, until } from '../waiting.mjs';
import { connectString, uniquePath } from './sessions.js';

const SESSION_TIMEOUT_MS = 1500;
const PERIOD_MS = 4000;
const SKEW_MS = 2000;
const FIXTURE = join(import.meta.dirname, '../../fixtures/job-replica.mjs');

const NAMES = ['default', 'recover'] as const;
type Name = (typeof NAMES)[number];
type Message = { name: Name; at: number } | { leads: true } | { joined: true };

/** Two replicas of a service with jobs, one of them with a clock that is behind or ahead, and how often each firing has run. */
class ScheduledService {
  readonly #path = uniquePath('firings');
  readonly #scheduler: string;
  readonly #clocks: readonly WallClock[];
  readonly runs = { default: new Map<number, number>(), recover: new Map<number, number>() };
  #leader: { child: ChildProcess; clock: WallClock } | undefined;
  #lead = deferred();

  constructor(aheadMs: number, scheduler: string) {
    this.#scheduler = scheduler;
    const folder = temporaryFolder();
    this.#clocks = [0, aheadMs].map((ms) => {
      const clock = new WallClock(join(folder, `${ms}`));
      clock.jump(ms / 1000);
      return clock;
    });
  }

  /** Resolves when both take part. */
  async start(): Promise<void> {
    for (const clock of this.#clocks) await this.#startReplica(clock);
    await this.#lead.promise;
  }

  /** Kills the leader, or has it resign. Resolves when the other one leads, and there are two again. */
  async disturb(isKill: boolean): Promise<void> {
    const leader = this.#leader;
    if (leader === undefined) throw new Error('there is no leader');
    this.#lead = deferred();
    if (isKill) leader.child.kill('SIGKILL');
    else leader.child.send('resign');
    await this.#lead.promise;
    if (isKill) await this.#startReplica(leader.clock);
  }

  async #startReplica(clock: WallClock): Promise<void> {
    const settings = [SESSION_TIMEOUT_MS, PERIOD_MS / 1000].map(String);
    const args = [connectString(), this.#path, ...settings, this.#scheduler];
    const child = fork(FIXTURE, args, { env: { ...process.env, ...clock.env } });
    onTestFinished(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    const joined = deferred();
    child.on('message', (message: Message) => {
      if ('joined' in message) joined.resolve();
      else if ('leads' in message) {
        this.#leader = { child, clock };
        this.#lead.resolve();
      } else {
        const runs = this.runs[message.name];
        runs.set(message.at, (runs.get(message.at) ?? 0) + 1);
      }
    });
    await joined.promise;
  }
}

/** How many firings have run so often: not at all, once, more often. */
export type Tally = Record<Name, { lost: number; once: number; twice: number }>;

export interface Disturbances {
  readonly isKill: boolean;
  /** How many services there are at the same time. The odd clock is ahead in the first, behind in the second, and so on. */
  readonly services: number;
  /** How many times the leader of each service is disturbed. */
  readonly rounds: number;
  /** Of `test/fixtures/schedules.mjs`. */
  readonly scheduler: string;
}

/** Disturbs the leader of each service around a firing, at equal distances from it, and counts the runs. */
export async function tallyFirings(disturbances: Disturbances): Promise<Tally> {
  const { isKill, services, rounds, scheduler } = disturbances;
  const none = { lost: 0, once: 0, twice: 0 };
  const found: Tally = { default: { ...none }, recover: { ...none } };
  const one = async (nth: number) => {
    const service = new ScheduledService(nth % 2 === 0 ? SKEW_MS : -SKEW_MS, scheduler);
    await service.start();
    // The first firings that both replicas see for certain.
    const from = Math.ceil((Date.now() + SKEW_MS) / PERIOD_MS) * PERIOD_MS;
    let firing = from;
    for (let round = 0; round < rounds; round++) {
      const part = (round * services + nth + 0.5) / (rounds * services);
      firing = Math.ceil((Math.max(Date.now(), firing) + SKEW_MS) / PERIOD_MS) * PERIOD_MS + PERIOD_MS;
      // From the firing by a clock that is ahead to that by a clock that is behind.
      await pause(firing - Date.now() + (part * 2 - 1) * SKEW_MS);
      await service.disturb(isKill);
    }
    const to = firing + PERIOD_MS;
    await until(() => service.runs.recover.has(to), 'the last firing');
    await pause(Math.max(0, to + SKEW_MS + 1000 - Date.now())); // A run too many would come by then.
    for (const name of NAMES)
      for (let at = from; at <= to; at += PERIOD_MS) {
        const runs = service.runs[name].get(at) ?? 0;
        found[name][runs === 0 ? 'lost' : runs === 1 ? 'once' : 'twice']++;
      }
  };
  await Promise.all(Array.from({ length: services }, (_, nth) => one(nth)));
  if (process.env.SOAK_ROUNDS !== undefined)
    console.log(`${scheduler}, ${isKill ? 'kills' : 'resignations'}`, found);
  return found;
}

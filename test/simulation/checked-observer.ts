import { ElectionObserver } from '../../src/election/observer/election-observer.js';
import { ignore } from '../../src/platform/async/promises.js';
import type { SessionSource } from '../../src/session/session-source.js';
import { ELECTION, type Surroundings } from './candidates/candidate.js';
import { CONNECT, SILENT, type SimulatedEnvironment } from './candidates/environment.js';

/** `stop` closes a session of its own, for 2 s at most. */
const STOPPED_WITHIN_MS = 2500;

/**
 * An `ElectionObserver` and its checks. In one life of the ensemble it never goes back to an earlier term. It shows no
 * leader for longer than a bound after that leader's end. And when all is well it shows the leader.
 */
export class CheckedObserver {
  readonly name: string;
  readonly environment: SimulatedEnvironment;
  readonly #observer: ElectionObserver;
  readonly #surroundings: Surroundings;
  /** Whether it uses the sessions of a supervisor. That one has none while it cleans up or stays out after several losses. */
  readonly #isLent: boolean;
  #startedAt = Number.POSITIVE_INFINITY;
  /** The leader that it showed last. */
  #newest = { life: 0, term: 0 };
  #stopped = false;

  /** @param source - a supervisor of the same process; without one it opens sessions of its own */
  constructor(
    name: string,
    environment: SimulatedEnvironment,
    surroundings: Surroundings,
    source?: SessionSource,
  ) {
    this.name = name;
    this.environment = environment;
    this.#surroundings = surroundings;
    this.#isLent = source !== undefined;
    const { ledger, sessionTimeoutMs } = surroundings;
    this.#observer = new ElectionObserver(source ?? CONNECT, ELECTION, {
      logger: SILENT,
      ...(source === undefined && { session: { sessionTimeoutMs, environment } }),
    });
    this.#observer
      .on('change', (leader) => {
        ledger.count('observers: changes');
        if (leader !== undefined) this.#checkOrder(leader.node);
      })
      .on('error', (error) => ledger.count(`reported: ${error.name}`));
  }

  start(): void {
    const { ledger, scheduler } = this.#surroundings;
    this.#startedAt = scheduler.now;
    ledger.expect(`${this.name}: start`, this.#observer.start(), () => this.isDead).catch(ignore); // Stopped before it had looked.
  }

  async stop(): Promise<void> {
    const { ledger } = this.#surroundings;
    const { clock } = this.environment;
    const isFirst = !this.#stopped;
    this.#stopped = true;
    const since = clock.now() - clock.frozenMs;
    await ledger.expect(`${this.name}: stop`, this.#observer.stop(), () => this.isDead);
    const tookMs = clock.now() - clock.frozenMs - since;
    if (isFirst && tookMs > STOPPED_WITHIN_MS)
      ledger.violate('stop', `${this.name} took ${Math.round(tookMs)} ms`);
    if (this.#observer.leader !== undefined)
      ledger.violate('observer', `${this.name} has stopped, and shows`);
  }

  get isDead(): boolean {
    return this.environment.clock.isDead;
  }

  #checkOrder(node: string): void {
    const { ledger, committedLeaders } = this.#surroundings;
    const shown = committedLeaders.termOf(node);
    if (shown === undefined) return ledger.violate('observer', `${this.name} shows ${node}, which never led`);
    const { life, term } = this.#newest;
    if (shown.life < life || (shown.life === life && shown.term < term))
      ledger.violate('observer', `${this.name} shows term ${shown.term} after term ${term}`);
    this.#newest = shown;
  }

  /** Checks that it shows no former leader for long, under any fault. Call it now and then. */
  checkStaleness(): void {
    if (this.#isOff) return;
    const { ledger, committedLeaders, scheduler, staleMs } = this.#surroundings;
    const node = this.#observer.leader?.node;
    const endedAt = node === undefined ? undefined : committedLeaders.termOf(node)?.endedAt;
    if (node === undefined || endedAt === undefined) return;
    if (committedLeaders.leadsByLostData(node)) return ledger.count('observers: shown a leader by lost data');
    const shownMs = scheduler.now - Math.max(endedAt, this.environment.clock.runsSince);
    ledger.time("an observer showed a leader after that one's end", shownMs);
    if (shownMs > staleMs)
      ledger.violate(
        'observer',
        `${this.name} shows ${node}, whose term ended ${Math.round(shownMs)} ms ago`,
      );
  }

  /** Checks that it shows the leader, or none when there is none. Call it when all has been well for long. */
  checkLeader(): void {
    if (this.#isOff) return;
    const { ledger, committedLeaders, scheduler, staleMs } = this.#surroundings;
    const since = Math.max(committedLeaders.changedAt, this.#startedAt, this.#lentSince);
    if (scheduler.now - since < staleMs) return;
    ledger.count('observers: compared with the leader');
    const node = this.#observer.leader?.node;
    if (node !== committedLeaders.leader && !committedLeaders.leadsByLostData(node ?? ''))
      ledger.violate('observer', `${this.name} shows ${node}, and ${committedLeaders.leader} leads`);
  }

  /** Since when it has been lent a session, by the clock on the wall; `Infinity` while there is none. */
  get #lentSince(): number {
    if (!this.#isLent) return 0;
    const { sessions, sessionOpenedAt } = this.environment;
    return sessions.size === 0 ? Number.POSITIVE_INFINITY : sessionOpenedAt;
  }

  get #isOff(): boolean {
    const { clock } = this.environment;
    return this.#stopped || clock.isDead || clock.isFrozen;
  }

  /** What hasn't ended, when everything should have. */
  get leftovers(): string[] {
    if (this.isDead) return [];
    const { clock, wires } = this.environment;
    const found: string[] = [];
    if (clock.timers > 0) found.push(`${clock.timers} timers of ${this.name}`);
    if (wires.size > 0) found.push(`${wires.size} sockets of ${this.name}`);
    return found;
  }
}

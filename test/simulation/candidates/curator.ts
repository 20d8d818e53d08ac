import { onAbort } from '../../../src/platform/async/lazy-abort-controller.js';
import { ignore } from '../../../src/platform/async/promises.js';
import { sleep } from '../../../src/platform/time/clock.js';
import type { Contender } from '../../../src/queue/contender.js';
import { joinQueue } from '../../../src/queue/join-queue.js';
import { parseLockEntry, queueOf } from '../../../src/queue/names-and-order.js';
import { untilTurn } from '../../../src/queue/turn-wait.js';
import { Session } from '../../../src/session/session.js';
import { Candidate, ELECTION } from './candidate.js';
import { CONNECT, SILENT } from './environment.js';

/**
 * The rule of most clients, Curator's LeaderLatch among them. The first in the queue leads. It steps down when its
 * connection is suspended, and leads on when the connection is resumed and its node is still the first. There is no lease:
 * it asks a flag.
 *
 * It uses a real session of Conclave, which finds a dead link sooner than Curator's does.
 */
export class CuratorCandidate extends Candidate {
  #session: Session | undefined;
  #contender: Contender | undefined;
  #opening = new AbortController();
  #term = 0;
  #isLeader = false;
  #stopped = false;

  override get isActing(): boolean {
    return this.#isLeader && !this.isDead && !this.environment.clock.isFrozen;
  }

  /** Its leftovers aren't checked. */
  override get leftovers(): string[] {
    return [];
  }

  override get isCleaning(): boolean {
    return false;
  }

  override get isWaiting(): boolean {
    return !this.#isLeader;
  }

  override get leadershipName(): string {
    return `${this.id} for the ${this.#term}th time`;
  }

  override get leadingNode(): string | undefined {
    return this.#isLeader ? this.#contender?.node.path : undefined;
  }

  start(): void {
    void this.#run();
    void this.#work();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#stand();
      } catch {
        if (!this.#stopped) await sleep(this.clock, this.random.between(100, 1000));
      }
    }
  }

  async #stand(): Promise<void> {
    const { environment } = this;
    const { sessionTimeoutMs } = this.surroundings;
    this.#opening = new AbortController();
    const { signal } = this.#opening;
    const session = await Session.connect(CONNECT, { environment, sessionTimeoutMs, signal, logger: SILENT });
    this.#session = session;
    session
      .on('suspended', () => this.#become(false))
      .on('resumed', () => void this.#look().catch(ignore)) // Seen at the next resumption.
      .on('expired', () => this.#become(false));
    try {
      this.#contender = await joinQueue(session, ELECTION);
      await untilTurn(this.#contender);
      this.#become(session.state.name === 'connected');
      const { signal: lost } = this.#contender.node; // Aborts with the session's as well.
      await new Promise<void>((resolve) => onAbort(lost, resolve));
    } finally {
      this.#become(false);
      await session.close();
    }
  }

  /** After a reconnection: looks whether its node is still there, and the first. */
  async #look(): Promise<void> {
    const [session, contender] = [this.#session, this.#contender];
    if (session === undefined || contender === undefined) return;
    const children = await session.getChildren(ELECTION);
    const isFirst = queueOf(children, parseLockEntry)[0]?.node === contender.entry.node;
    if (session.state.name === 'connected') this.#become(isFirst);
  }

  #become(isLeader: boolean): void {
    if (isLeader && !this.#isLeader) {
      this.#term++;
      this.surroundings.ledger.count('terms');
    }
    this.#isLeader = isLeader;
    this.surroundings.checker.checkActing();
  }

  /** Acts now and then, if the flag says so. */
  async #work(): Promise<void> {
    while (!this.#stopped) {
      this.surroundings.checker.checkActing();
      await sleep(this.clock, this.surroundings.sessionTimeoutMs * this.random.between(0.2, 0.8));
    }
  }

  standDown(): Promise<void> {
    return this.stop();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#opening.abort(new Error('stopped'));
    await this.#session?.close();
  }

  /** Goes to the back of the queue, by way of another session. */
  resign(): void {
    void this.#session?.close();
  }

  handOver(): void {
    this.resign();
  }

  session(): Promise<Session> {
    return Promise.reject(new Error('it has its session for itself'));
  }
}

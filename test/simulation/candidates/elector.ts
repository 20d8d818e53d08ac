import { getEventListeners } from 'node:events';
import { registerWithGuardian } from '../../../src/cluster/dead-children/register-with-guardian.js';
import { LeaderElector } from '../../../src/election/leader-elector.js';
import { onAbort } from '../../../src/platform/async/lazy-abort-controller.js';
import { ignore } from '../../../src/platform/async/promises.js';
import { sleep } from '../../../src/platform/time/clock.js';
import { Session } from '../../../src/session/session.js';
import { Candidate, ELECTION, joinOptions, sessionTimes } from './candidate.js';
import { CONNECT, SILENT } from './environment.js';

/** A process that has a `Session` and a `LeaderElector`, and creates new ones itself when the session is over. */
export class ElectorCandidate extends Candidate {
  #elector: LeaderElector | undefined;
  #session: Session | undefined;
  #opening: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #listenersBefore = 0;
  #isCandidate = true;
  #cleaning = false;
  #stopped = false;

  start(): void {
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#stand();
        this.#cleaning = true;
        if (!this.#stopped) await this.cleanUp();
      } catch {
        if (!this.#stopped) await sleep(this.clock, this.random.between(100, 1000));
      } finally {
        this.#cleaning = false;
      }
    }
  }

  get isCleaning(): boolean {
    return this.#cleaning;
  }

  /** One session, to its end. */
  async #stand(): Promise<void> {
    const { environment } = this;
    this.#opening = new AbortController();
    const options = {
      ...sessionTimes(this.setup),
      ...{ environment, signal: this.#opening.signal, logger: SILENT },
    };
    const session = await this.expect('connect', Session.connect(CONNECT, options));
    this.#session = session;
    const over = new Promise<void>((resolve) => onAbort(session.signal, resolve));
    this.#listenersBefore = getEventListeners(session.signal, 'abort').length;
    try {
      if (this.#isCandidate) await this.#elect(session);
      await over;
    } finally {
      await this.#elector?.stop();
      await this.expect('close', session.close());
      this.#session = undefined;
    }
  }

  async #elect(session: Session): Promise<void> {
    const { ledger } = this.surroundings;
    const elector = new LeaderElector(session, ELECTION, {
      id: this.id,
      ...joinOptions(this.setup),
      ...this.warmOptions(),
    });
    this.#elector = elector;
    elector
      .on('elected', (term) => this.elected(term))
      .on('demoted', (term, reason) => this.demoted(term, reason))
      .on('error', (error) => ledger.count(`reported: ${error.name}`));
    registerWithGuardian(session, elector);
    await this.expect('start', elector.start());
  }

  override get isWaiting(): boolean {
    return this.#session?.state.name === 'connected' && this.#elector?.state.name === 'waiting';
  }

  /** Closes its session, whatever it does at that moment. */
  closeSession(): void {
    const closed = this.#session?.close() ?? Promise.resolve();
    void this.expect('close', closed);
  }

  async standDown(): Promise<void> {
    this.#isCandidate = false;
    if (this.#elector !== undefined) await this.expect('stop', this.#elector.stop());
  }

  override get leftovers(): string[] {
    const session = this.#session;
    const found = session === undefined ? 0 : getEventListeners(session.signal, 'abort').length;
    const more = found > this.#listenersBefore ? [`${found} listeners on the session of ${this.id}`] : [];
    return [...super.leftovers, ...more];
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.standDown();
    this.#opening?.abort(new Error('stopped'));
    if (this.#session !== undefined) await this.expect('close', this.#session.close());
    await this.#running;
  }

  resign(): void {
    const resigned = this.#elector?.resign() ?? Promise.resolve();
    this.expect('resign', resigned).catch(ignore); // The session may end before.
  }

  handOver(to: string): void {
    const handedOver = this.#elector?.handOver(to) ?? Promise.resolve();
    this.expect('handOver', handedOver).catch(ignore); // It may not lead any more.
  }

  session(): Promise<Session> {
    if (this.#session === undefined) return Promise.reject(new Error('none now'));
    return Promise.resolve(this.#session);
  }
}

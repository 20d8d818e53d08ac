import { InvalidOptionError, type StopWait } from '../errors.js';
import { takeoverDelayMs } from '../lease/failure-detector.js';
import { type StartOptions, start } from '../platform/async/start-with-signal.js';
import { resolveStop, type StopOptions } from '../platform/async/stop-with-timeout.js';
import { checkInstance, checkMetadata, checkPath } from '../platform/checks.js';
import { withFields } from '../platform/logging/logger.js';
import { type Reporting, ReportingEmitter } from '../platform/logging/reporting-emitter.js';
import { mark } from '../public-class/instance-brand.js';
import { showAs } from '../public-class/shown-in-console.js';
import { Session } from '../session/session.js';
import type { Candidate } from './candidates/candidate.js';
import { ElectorLifecycle } from './elector-lifecycle.js';
import { type LeaderElectorOptions, resolveElectorOptions } from './elector-options.js';
import {
  type BeforeRelease,
  ELECTOR_EVENTS,
  type ElectorState,
  type LeaderElectorEvents,
  publicStateOf,
} from './elector-state.js';
import { ElectionReader, readElection } from './record/election-reader.js';
import type { Term } from './term/term.js';

/**
 * One candidate in an election. It waits for its turn, leads, gives the term back, and joins the queue again. It
 * belongs to one session and ends with that session. An `ElectionSupervisor` goes on with the next session.
 *
 * Guaranteed: candidates lead in the order of joining, one at a time; a term's signal aborts before `demoted`; a
 * leader's work has settled before the term is given back. See {@link Term} for how to act as a leader.
 *
 * If the servers hear nothing from a leader for a lease, that leader can't give its term back: the next candidate
 * takes over, see `takeoverDelayMs`. If the former leader's session lives, it joins the queue again when its work has
 * settled. If a candidate loses its lease within two leases of the beginning of a term, twice in a row, it stays out
 * of the election for 12 to 15 s. After each further loss of this kind in a row it stays out for 24 to 30 s.
 *
 * @example
 * ```ts
 * const elector = new LeaderElector(session, '/elections/scheduler', {
 *   lead: async (term) => {
 *     while (term.isHeld()) await runNextJob({ token: term.token, signal: term.signal });
 *   },
 * });
 * elector.on('error', (error) => console.error(error));
 * await elector.start();
 * ```
 */
export class LeaderElector<T = undefined> extends ReportingEmitter<LeaderElectorEvents> {
  /** The candidate's name. */
  readonly id: string;
  /** The election's path. */
  readonly path: string;
  readonly #session: Session;
  readonly #lifecycle: ElectorLifecycle;

  /** @throws InvalidOptionError if the path or an option is wrong */
  constructor(session: Session, path: string, options?: LeaderElectorOptions<T>) {
    super();
    this.#session = checkInstance('session', session, Session);
    this.path = checkPath('path', path);
    const given = resolveElectorOptions(options, session);
    const resolved = { ...given, logger: withFields(given.logger, { election: path, id: given.id }) };
    this.id = resolved.id;
    this.#lifecycle = new ElectorLifecycle(session, path, resolved, {
      emit: (event, ...args) => this.emit(event, ...args),
      report: (error) => this.report(error),
      note: (what) => this.note(what),
    });
  }

  /** The session with which it takes part. */
  get session(): Session {
    return this.#session;
  }

  /** The state now; an event follows each change. */
  get state(): ElectorState {
    return publicStateOf(this.#lifecycle.state);
  }

  /** The term that this elector leads; `undefined` while it doesn't lead. */
  get term(): Term | undefined {
    return this.#lifecycle.leading();
  }

  /** Whether this elector leads at this very moment: `term.isHeld()` of its term, or `false` while it has none. */
  get isLeader(): boolean {
    return this.term?.isHeld() ?? false;
  }

  /**
   * Takes part in the election. Resolves once the elector has a place in the queue and watches the node ahead of it. A second call returns
   * the promise of the first. Handle a rejection, as with any promise. A rejection because the elector was stopped needn't be handled.
   *
   * @throws InvalidOptionError if an option is wrong
   * @throws the reason of `options.signal` if that aborts before
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws InvalidStateError if the elector was stopped before the call, or is stopped before it has a place
   * @throws UnprotectedPathError if any client could delete or write the election's nodes; see the option `allowUnprotectedPaths`
   *   of the session. The elector then stops
   * @throws UnreadableNodeError if the session may not read the node ahead, so that the servers would never notify the elector of
   *   that node's end; the elector then stops. If such a node comes ahead later, the elector emits `error`, leaves the queue, and
   *   joins again after a pause
   * @throws ZooKeeperError if a server refuses, for lack of permission for example; the elector then stops
   */
  start(options?: StartOptions): Promise<void> {
    return start(options, { begin: () => this.#lifecycle.start(), stop: () => this.stop() });
  }

  /**
   * Ends the elector's term cleanly, after a wait by `waitForPreparedMs`. The elector then goes to the back of the queue. Resolves once it
   * has a place there or has stopped. Called from inside the leader's work, it resolves as soon as the term's signal has aborted. Does
   * nothing unless the elector leads.
   *
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   */
  resign(): Promise<void> {
    return this.#lifecycle.resign();
  }

  /**
   * Ends the elector's term cleanly and gives the next term to a candidate of your choice, anywhere in the queue. That candidate holds the
   * next term from then on, and the candidates ahead of it keep their places. Resolves as {@link LeaderElector.resign} does.
   *
   * Not guaranteed: that the candidate leads. If it has left the queue by then, the queue decides. If it is there and
   * does nothing, because its process is stopped for example, other candidates replace it like any leader that ends
   * uncleanly. If it has never been the next in line, they replace it only when its session ends.
   *
   * @param candidate - its id or the name of its node; if several have that id, the first in the queue
   * @throws InvalidStateError unless the elector leads, and still leads when it has found the candidate
   * @throws NoCandidateError if there is no such candidate, or the node is another client's (Curator's, for example); the term goes on
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   */
  handOver(candidate: string): Promise<void> {
    return this.#lifecycle.handOver(candidate);
  }

  /**
   * Leaves the election. Resolves when the leader's work has settled and the node is gone, or the session is over. While no server can be
   * reached, the wait for the node takes a lease and a half at most, and the session deletes the node as soon as it reaches a server.
   * Called from inside the leader's work (`lead`, or a function given to `waitUntil`), it resolves once the term's signal has aborted.
   *
   * The elector waits for the work as long as that takes. It gives nothing back before, since the work may still be acting. If the work
   * takes longer than a lease and `waitForPreparedMs`, the elector emits `error` once. If the call rejects because of `timeoutMs`, the stop
   * goes on.
   *
   * @throws StopPendingError if the stop isn't done within `options.timeoutMs`; the error says what still runs
   * @throws InvalidOptionError if an option is wrong; the elector then isn't stopped
   */
  async stop(options?: StopOptions): Promise<void> {
    const timeoutMs = resolveStop(options);
    const left = this.withdraw();
    this.#lifecycle.stopping.watch();
    await this.#lifecycle.stopping.wait(left, timeoutMs);
  }

  /** Stops as {@link LeaderElector.stop} does, for a supervisor, which reports by itself what it waits for. Never rejects. @internal */
  withdraw(): Promise<void> {
    return this.#lifecycle.withdraw();
  }

  /** Stops the elector, for `await using`: the same as `stop()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Has `task` called at the end of each later term. @internal */
  beforeRelease(task: BeforeRelease): void {
    this.#lifecycle.beforeRelease(task);
  }

  /**
   * Whether the work of a term goes on though the lease is over. Such work may be acting beside another leader.
   * @internal
   */
  get isWedged(): boolean {
    const { state } = this.#lifecycle;
    return state.name === 'ending' && state.term.hasOverrun;
  }

  /**
   * Whether the work of a term goes on though the elector was asked to stop a lease ago. Until it ends, no candidate can lead. @internal
   */
  get isOverdue(): boolean {
    const { state, stopping } = this.#lifecycle;
    return state.name === 'ending' && state.term.hasWork && stopping.isOverdue;
  }

  /** For how long `lead` has waited for `prepare` in the term; `undefined` if it doesn't wait. @internal */
  get preparingMs(): number | undefined {
    return this.#lifecycle.preparingMs;
  }

  /** How long after a leader's last heartbeat it takes over, in milliseconds. @internal */
  get takeoverMs(): number {
    const least = this.#lifecycle.options.takeoverDelayMs ?? 0;
    return Math.max(takeoverDelayMs(this.#session.leaseMs), least);
  }

  /** What the stop waits for. @internal */
  get holdUp(): StopWait {
    return this.#lifecycle.holdUp();
  }

  /**
   * No thread repeats the heartbeats of its terms: no work needs them while this process stands still. Call it before `start()`. @internal
   */
  withoutRepeats(): void {
    this.#lifecycle.isRepeated = false;
  }

  /** Has the elector use what a candidate that outlives it knows. Call it before `start()`. @internal */
  useMemory(memory: ElectorLifecycle['memory']): void {
    this.#lifecycle.memory = memory;
  }

  /**
   * Changes the data that others see of this candidate. Its place in the queue and its term stay. Resolves when the
   * node has the new data, or is gone: the next node is then created with it.
   *
   * @throws InvalidOptionError if `data` isn't a string or bytes, or is over 16 KiB
   * @throws InvalidStateError if the elector has stopped
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws ZooKeeperError if a server refuses
   */
  async advertise(data: string | Uint8Array): Promise<void> {
    if (checkMetadata('data', data) === undefined)
      throw new InvalidOptionError('data', data, 'a string or a Uint8Array');
    await this.#lifecycle.advertise(data);
  }

  /**
   * The candidates, in the order in which they will lead, the leaders first. The answer may be a moment old. A leader can
   * name another successor with {@link LeaderElector.handOver}, which no other process sees.
   *
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws ZooKeeperError if a server refuses
   */
  async candidates(): Promise<Candidate[]> {
    return (await readElection(this.#session, this.path)).candidates;
  }

  /**
   * The candidate that holds the current term by the election's record; `undefined` if no candidate leads. The leader may have
   * changed since.
   *
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws ZooKeeperError if a server refuses
   */
  leader(): Promise<Candidate | undefined> {
    return new ElectionReader(this.#session, this.path).leader();
  }

  /** The claim of the term that the elector leads or is ending, for the guardian of this process. @internal */
  get claim() {
    const { state } = this.#lifecycle;
    return 'term' in state ? state.term.claim : undefined;
  }

  /** @internal */
  protected override get reporting(): Reporting<LeaderElectorEvents> {
    return {
      events: ELECTOR_EVENTS,
      logger: this.#lifecycle.options.logger,
      message: 'something went wrong in the election',
    };
  }
}

mark(LeaderElector, 'LeaderElector');
showAs(LeaderElector, ({ id, path, state: { name: state }, term }) => ({
  id,
  path,
  state,
  ...(term && { term }),
}));

import { mark } from '../classes/duplicate-install.js';
import { showAs } from '../classes/inspection.js';
import { describe, InvalidOptionError, type ListenerError, type StopWait } from '../errors.js';
import { type StartOptions, start } from '../platform/async/starting.js';
import { resolveStop, type StopOptions } from '../platform/async/stopping.js';
import { checkInstance, checkMetadata, checkPath } from '../platform/checks.js';
import { logError, withFields } from '../platform/logging/logger.js';
import { type EventNames, SafeEmitter } from '../platform/safe-emitter.js';
import { Session } from '../session/session.js';
import { ElectorLifecycle } from './elector-lifecycle.js';
import { type LeaderElectorOptions, resolveElectorOptions } from './elector-options.js';
import {
  ELECTOR_EVENTS,
  type ElectorState,
  type LeaderElectorEvents,
  publicStateOf,
} from './elector-state.js';
import type { Candidate } from './nodes/candidate.js';
import { ElectionReader, leadersOf } from './nodes/election-reader.js';
import type { Term } from './term/term.js';

/**
 * One candidate in an election: waits for its turn, leads, gives the term back, and joins the queue again. It belongs to one
 * session and ends with it; `ElectionSupervisor` goes on with the next session.
 *
 * Guaranteed: candidates lead in the order of joining, one at a time; a term's signal aborts before `demoted`; a leader's
 * work has settled before the term is given back. A leader of which the servers hear nothing for a lease can't give it back:
 * the next candidate takes over, see `takeover`, and the leader, if its session lives, joins the queue again when its work has
 * settled. See {@link Term} for acting as a leader.
 * A candidate whose lease ends within two leases, for the second term in a row, stays out of the election for 12 to 15 s, and then for 24 to 30 s.
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
export class LeaderElector extends SafeEmitter<LeaderElectorEvents> {
  /** The candidate's name. */
  readonly id: string;
  /** The election's path. */
  readonly path: string;
  readonly #session: Session;
  readonly #lifecycle: ElectorLifecycle;

  /** @throws InvalidOptionError if the path or an option is wrong */
  constructor(session: Session, path: string, options?: LeaderElectorOptions) {
    super();
    this.#session = checkInstance('session', session, Session);
    this.path = checkPath('path', path);
    const given = resolveElectorOptions(options, session);
    const resolved = { ...given, logger: withFields(given.logger, { election: path, id: given.id }) };
    this.id = resolved.id;
    this.#lifecycle = new ElectorLifecycle(session, path, resolved, {
      emit: (event, ...args) => this.emit(event, ...args),
      report: (error) => this.#report(error),
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

  /** The term that this elector leads, while it does. */
  get term(): Term | undefined {
    return this.#lifecycle.leading();
  }

  /** Whether this elector leads at this very moment: `term.isHeld()` of the term that it leads, if it does. */
  get isLeader(): boolean {
    return this.term?.isHeld() ?? false;
  }

  /**
   * Takes part in the election. Resolves once it has a place in the queue, and watches the node ahead of it; a second call
   * gives the first one's promise. A rejection has to be handled, as of any promise; not if the elector was stopped.
   *
   * @throws InvalidOptionError if an option is wrong, or the reason of `options.signal` if that aborts before
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   * @throws InvalidStateError if it was stopped, before or meanwhile
   * @throws SeatsMismatchError if the election has another number of seats: the elector is stopped then
   * @throws UnreadableNodeError if it may not read the node ahead of it, of whose end it would never be notified: the elector
   *   is stopped then. If such a node comes ahead of it later, that is an `error`; it leaves, and joins again after a while
   * @throws ZooKeeperError if a server refuses, for lack of permission for example: the elector is stopped then
   */
  start(options?: StartOptions): Promise<void> {
    return start(options, { begin: () => this.#lifecycle.start(), stop: () => this.stop() });
  }

  /**
   * Ends its term cleanly and goes to the back of the queue. Resolves once it has a place there, or has stopped;
   * called from inside the leader's work, as soon as the term's signal has aborted. Does nothing unless it leads.
   *
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   */
  resign(): Promise<void> {
    return this.#lifecycle.resign();
  }

  /**
   * Ends its term cleanly in favour of any candidate in the queue, which holds the next term from then on; those ahead of it keep their
   * places. If it is gone by then, the queue decides. If it is there and does nothing, since its process is stopped say, it is
   * replaced as any leader that ends uncleanly; one that has never been the next in line, when its session ends. Resolves as
   * {@link LeaderElector.resign} does.
   *
   * @param candidate - its id or the name of its node; of several with that id the first in the queue
   * @throws InvalidStateError unless it leads, and still does when the candidate has been found
   * @throws NoCandidateError if there is no such candidate, or it is another client's; the term goes on
   * @throws SessionExpiredError, SessionClosedError if the session ends before
   */
  handOver(candidate: string): Promise<void> {
    return this.#lifecycle.handOver(candidate);
  }

  /**
   * Leaves the election. Resolves when the leader's work has settled and the node is gone, or the session is over; while no
   * server can be reached, after a lease and a half at most, and the node is deleted as soon as one can be. Called from
   * inside the leader's work (`lead`, or a function given to `waitUntil`), resolves once the term's signal has aborted.
   *
   * The work is waited for as long as it takes, and nothing is given back before, since it may still be acting. If it takes
   * longer than a lease, `error` says so once. A call that rejects for its `timeoutMs` has asked for the end all the same.
   *
   * @throws StopPendingError if it isn't done within `options.timeoutMs`; says what still runs
   * @throws InvalidOptionError if an option is wrong: it isn't stopped then
   */
  async stop(options?: StopOptions): Promise<void> {
    const timeoutMs = resolveStop(options);
    const left = this.withdraw();
    this.#lifecycle.stopping.watch();
    await this.#lifecycle.stopping.wait(left, timeoutMs);
  }

  /** As {@link LeaderElector.stop}, for a supervisor, which reports itself what it waits for. Never rejects. @internal */
  withdraw(): Promise<void> {
    return this.#lifecycle.withdraw();
  }

  /** Stops it, for `await using`: the same as `stop()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** From the next term's end on, calls `task` when the work has settled, before the release. It must not reject. @internal */
  beforeRelease(task: () => Promise<void>): void {
    this.#lifecycle.beforeRelease(task);
  }

  /** Whether the work of a term goes on though its lease is over: it may be acting beside another leader. @internal */
  get isWedged(): boolean {
    const { state } = this.#lifecycle;
    return state.name === 'ending' && state.term.hasOverrun;
  }

  /** Whether the work of a term goes on though it was to stop a lease ago: no candidate can lead. @internal */
  get isOverdue(): boolean {
    const { state, stopping } = this.#lifecycle;
    return state.name === 'ending' && state.term.hasWork && stopping.isOverdue;
  }

  /** How many lead at once. @internal */
  get seats(): number {
    return this.#lifecycle.options.seats;
  }

  /** What holds up its stop. @internal */
  get holdUp(): StopWait {
    return this.#lifecycle.holdUp();
  }

  /** After the term that it leads, it joins the queue again no sooner than at `atMs` by the session's clock. @internal */
  standAgainAt(atMs: number): void {
    this.#lifecycle.rejoinBackoff.notBefore(atMs);
  }

  /** Before this time, by the session's clock, it stays out of the election. @internal */
  get standsAgainAt(): number {
    return this.#lifecycle.rejoinBackoff.notBeforeMs;
  }

  /**
   * Changes the data that others see of this candidate, without another election.
   *
   * @throws InvalidOptionError if it isn't a string or bytes, or is over 16 KiB
   * @throws InvalidStateError if the elector has stopped
   * @throws what ended the session, or a `ZooKeeperError` if a server refuses
   */
  async advertise(data: string | Uint8Array): Promise<void> {
    if (checkMetadata('data', data) === undefined)
      throw new InvalidOptionError('data', data, 'a string or a Uint8Array');
    await this.#lifecycle.advertise(data);
  }

  /** The candidates, in the order in which they will lead. What they advertise may be a moment old. */
  candidates(): Promise<Candidate[]> {
    return new ElectionReader(this.#session, this.path).candidates();
  }

  /** The holder of the current term, by the record, of the first taken seat; `undefined` if none. It may have changed since. */
  async leader(): Promise<Candidate | undefined> {
    return (await this.leaders()).find((leader) => leader !== undefined);
  }

  /** The leader of each seat, from seat 0; see {@link LeaderElector.leader}. */
  leaders(): Promise<(Candidate | undefined)[]> {
    return leadersOf(this.#session, this.path, this.#lifecycle.options.seats);
  }

  /** The claim of the term that is led or being ended, for the guardian of this process. @internal */
  get claim() {
    const { state } = this.#lifecycle;
    return 'term' in state ? state.term.claim : undefined;
  }

  #report(error: Error): void {
    logError(this.#lifecycle.options.logger, error, 'something went wrong in the election', this);
    this.emit('error', error);
  }

  /** @internal */
  protected override get knownEvents(): EventNames<LeaderElectorEvents> {
    return ELECTOR_EVENTS;
  }

  protected override reportListenerError(error: ListenerError): void {
    if (error.event === 'error')
      this.#lifecycle.options.logger.error({ cause: describe(error) }, 'a listener failed');
    else this.#report(error);
  }
}

mark(LeaderElector, 'LeaderElector');
showAs(LeaderElector, ({ id, path, state: { name: state }, term }) => ({
  id,
  path,
  state,
  ...(term && { term }),
}));

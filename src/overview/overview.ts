import { checkOptions, checkPath } from '../platform/checks.js';
import { systemEnvironment } from '../platform/injected-environment.js';
import type { Logger } from '../platform/logging/logger.js';
import type { Reporting } from '../platform/logging/reporting-emitter.js';
import type { EventNames } from '../platform/safe-emitter.js';
import type { Clock, Timer } from '../platform/time/clock.js';
import { showAs } from '../public-class/shown-in-console.js';
import { Observer, type ReadingListener, type SessionReading } from '../session/observers/observer.js';
import { resolveSource } from '../session/observers/observer-sessions.js';
import { Session } from '../session/session.js';
import { type SessionOptions, WITHIN_SESSION } from '../session/session-options.js';
import type { SessionSource } from '../session/session-source.js';
import { OverviewModel } from './model/overview-model.js';
import { ServerClock } from './model/server-clock.js';
import type { OverviewChange, OverviewState } from './model/view-types.js';
import { HeartbeatPoll, ServerPoll } from './reading/heartbeat-and-server-polls.js';
import { Tree } from './reading/tree.js';

/** Options of an `Overview`. */
export interface OverviewOptions {
  /** The overview shows this node and all nodes below it. @default '/' */
  readonly root?: string;
  /** How the overview opens its sessions, with a connect string only. There is no `signal`, because `stop()` ends the sessions. */
  readonly session?: Omit<SessionOptions, 'signal'>;
  /** Any logger with pino's methods. @default the session's, else pino at the level of CONCLAVE_LOG_LEVEL */
  readonly logger?: Logger;
}

const KNOWN = ['root', 'session', 'logger'] as const;

/** @throws InvalidOptionError */
function resolveOverviewOptions(from: unknown, given: unknown) {
  const options = checkOptions<OverviewOptions>('overview', given, KNOWN, WITHIN_SESSION);
  const { root = '/' } = options;
  if (root !== '/') checkPath('root', root);
  const environment = from instanceof Session ? from.environment : options.session?.environment;
  return {
    root,
    clock: (environment ?? systemEnvironment).clock,
    source: (onError: (error: unknown) => void) =>
      resolveSource(from, options, { onError, supervisor: 'a supervisor' }),
  };
}

/** The events of an `Overview`. */
export interface OverviewEvents {
  /** The parts of the state that have changed, at most ten times in a second. */
  change(change: OverviewChange): void;
  /** Something went wrong and reading begins anew, or a listener threw. */
  error(error: Error): void;
}

const OVERVIEW_EVENTS: EventNames<OverviewEvents> = { change: true, error: true };

/** How long to wait for the rest of a batch: one transaction causes several notifications. */
const GATHER_MS = 20;
const BATCH_EVERY_MS = 100;

/**
 * A live picture of all elections, locks and groups of shards below a root, for operators. It only reads: it needs no right to write, and
 * creates nothing. If the root is missing, it waits for it.
 *
 * The picture is a moment old, and proves nothing: only a leader's own `term` says whether it leads. Not guaranteed: every state in
 * between. The overview may miss a term that begins and ends within a tenth of a second.
 *
 * It sets one watch for each election and lock and for each node above them, one for the record of each election while there are
 * candidates, and one for each member of a group, with four more for the group. While it has no session it keeps the state that it read
 * last.
 */
export class Overview extends Observer<void, OverviewState, OverviewEvents> {
  readonly root: string;
  readonly #clock: Clock;
  readonly #model: OverviewModel;
  readonly #serverClock = new ServerClock();
  /** With the present session. */
  #reading: OverviewReading | undefined;
  #attending = 0;
  #timer: Timer | undefined;
  #batchedAtMs = Number.NEGATIVE_INFINITY;

  /**
   * @param session - a session, which is left open; a connect string, or a function that gives one; or a supervisor
   * @throws InvalidOptionError if the session or an option is wrong
   */
  constructor(
    session: Session | SessionSource | string | (() => string | Promise<string>),
    options?: OverviewOptions,
  ) {
    const { root, clock, source } = resolveOverviewOptions(session, options);
    super(source, {}, 1);
    this.root = root;
    this.#clock = clock;
    this.#model = new OverviewModel(
      () => clock.date().getTime(),
      () => this.#batchSoon(),
    );
  }

  /** The state that was read last. Empty before `start` has resolved. */
  get state(): OverviewState {
    return this.#model.state;
  }

  /** The session that reads, if a server serves it. */
  get session(): Session | undefined {
    const session = this.#reading?.session;
    return session?.state.name === 'connected' ? session : undefined;
  }

  /**
   * Makes the overview read each leader's heartbeats, twice in a lease, and ask the servers for their roles, every 5 s. It does so as long
   * as at least one caller attends, and once for all callers. @returns a function that ends it for this caller
   */
  attend(): () => void {
    this.#attending++;
    if (this.#attending === 1) this.#reading?.attend(true);
    let isAttending = true;
    return () => {
      if (!isAttending) return;
      isAttending = false;
      this.#attending--;
      if (this.#attending === 0) this.#reading?.attend(false);
    };
  }

  /** @internal */
  protected override read(session: Session, listener: ReadingListener<void>): OverviewReading {
    const reading = new OverviewReading(session, this.root, this.#model, this.#serverClock, listener);
    this.#reading = reading;
    if (this.#attending > 0) reading.attend(true);
    return reading;
  }

  /** @internal Changes are told in batches. */
  protected override see(): boolean {
    return false;
  }

  /** @internal It keeps the state that it has read last. */
  protected override loseSight(): void {
    this.#model.connected(false);
  }

  /** @internal */
  protected override get shown(): OverviewState {
    return this.state;
  }

  /** @internal */
  protected override get endsByFirstRefusal(): boolean {
    return false;
  }

  /** @internal */
  protected override beforeStop(): void {
    this.#emitBatch();
    this.#timer?.clear();
  }

  #batchSoon(): void {
    const clock = this.#clock;
    if (this.#timer !== undefined || this.hasStopped) return;
    const pauseMs = Math.max(GATHER_MS, this.#batchedAtMs + BATCH_EVERY_MS - clock.now());
    this.#timer = clock.after(pauseMs, () => {
      this.#timer = undefined;
      this.#batchedAtMs = clock.now();
      this.#emitBatch();
    });
  }

  #emitBatch(): void {
    const change = this.#model.takeBatch();
    if (change !== undefined) this.tell(change);
  }

  /** @internal */
  protected override get reporting(): Reporting<OverviewEvents> {
    return {
      events: OVERVIEW_EVENTS,
      logger: this.logger,
      message: 'something went wrong in the overview',
    };
  }
}

showAs(Overview, ({ root }) => ({ root }));

/**
 * Everything that an overview reads with one session: the tree below its root and, while the overview is attended, heartbeats and servers.
 */
export class OverviewReading extends Tree implements SessionReading {
  #polls: readonly { stop(): void }[] = [];
  #hasStopped = false;
  readonly #unsubscribe: () => void;

  constructor(...given: ConstructorParameters<typeof Tree>) {
    super(...given);
    const { session, model } = this;
    const onSuspended = () => model.connected(false);
    const onResumed = () => model.connected(true);
    session.on('suspended', onSuspended).on('resumed', onResumed);
    this.#unsubscribe = () => session.off('suspended', onSuspended).off('resumed', onResumed);
    model.connected(session.state.name === 'connected');
  }

  /** Begins or ends the reading of heartbeats and servers. After `stop()` it begins nothing: the next reading does. */
  attend(isAttended: boolean): void {
    for (const poll of this.#polls) poll.stop();
    this.#polls = isAttended && !this.#hasStopped ? [new HeartbeatPoll(this), new ServerPoll(this)] : [];
  }

  override stop(): void {
    this.#hasStopped = true;
    this.#unsubscribe();
    this.attend(false);
    super.stop();
  }
}

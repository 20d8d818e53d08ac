import type { ChildProcess } from 'node:child_process';
import type { Worker as ClusterWorker } from 'node:cluster';
import { describe, InvalidOptionError, InvalidStateError } from '../../errors.js';
import { settledWithin } from '../../platform/async/promises.js';
import { checkOptions } from '../../platform/checks.js';
import type { Environment } from '../../platform/injected-environment.js';
import { type Logger, resolveLogger } from '../../platform/logging/logger.js';
import { type Reporting, ReportingEmitter } from '../../platform/logging/reporting-emitter.js';
import type { EventNames } from '../../platform/safe-emitter.js';
import type { Timer } from '../../platform/time/clock.js';
import { mark } from '../../public-class/instance-brand.js';
import { absoluteConnectSource, type ConnectSource } from '../../session/connection/server-list.js';
import { resolveSessionOptions, type SessionOptions } from '../../session/session-options.js';
import { cleanUpSession, type SessionCleanup } from './give-back-terms.js';
import { type ElectionRole, GuardedProcess, MOST_ELECTIONS, MOST_SESSIONS } from './guarded-process.js';
import {
  type ChildReport,
  decodeChildMessage,
  encodeGuardianMessage,
  type GuardianMessage,
} from './guardian-messages.js';

/** How a {@link SessionGuardian} reaches the servers. */
export interface SessionGuardianOptions {
  /**
   * The servers, as the guarded processes name them, or a function that gives them, which is asked before each round of servers. A chroot
   * has no effect.
   */
  readonly connect: string | (() => string | Promise<string>);
  /**
   * The `auth`, `sasl` and `tls` of the guarded processes' sessions. Without their credentials the guardian can close their sessions, but
   * it can't give back their terms.
   */
  readonly session?: Pick<SessionOptions, 'auth' | 'sasl' | 'tls' | 'environment'>;
  /** Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL, else warnings and errors on stderr */
  readonly logger?: Logger;
}

/** The clean-up of a guardian after the end of one process. */
export interface CleanupReport {
  /** The id of the process that has ended; `undefined` if it never ran. */
  readonly pid: number | undefined;
  /** One for each session that it had open. */
  readonly sessions: readonly SessionCleanup[];
  /** How long the clean-up took, in milliseconds, from when the guardian heard of the process's end. */
  readonly tookMs: number;
}

/** The events of a {@link SessionGuardian}. */
export interface SessionGuardianEvents {
  /** A guarded process has ended, and its sessions have been cleaned up. There is no such event if it had none open. */
  cleanedUp(report: CleanupReport): void;
  /**
   * The guardian couldn't clean up a session of a dead process: that session ends by its session timeout. Or a process reported
   * something untrue, or too much, or passed on the messages of another process, which isn't guarded. Or a listener failed.
   */
  error(error: Error): void;
  /** @internal The role of a guarded process has changed. */
  roleChanged(child: ChildProcess, role: ElectionRole): void;
}

/** @internal */
export const GUARDIAN_EVENTS: EventNames<SessionGuardianEvents> = {
  cleanedUp: true,
  error: true,
  roleChanged: false,
};

const KNOWN = ['connect', 'session', 'logger'] as const;
/** @internal */
export const GUARDIAN_SESSION_OPTIONS = ['auth', 'sasl', 'tls', 'environment'] as const;

// A process that reads its messages answers the first `attach`; a process that is still starting may miss some.
const FIRST_PAUSE_MS = 50;
const LONG_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 86_400_000;
// The last messages of a process are read by now, or its channel is held open by a process that it has left behind.
const LAST_MESSAGES_MS = 100;

/**
 * Closes the sessions of child processes when these have ended. So the next leader needn't wait for the end of a lease, nor the next holder
 * of a lock for a session timeout: a killed leader is replaced in milliseconds. Create the guardian in the parent. The children report
 * their sessions and terms to it over IPC on their own, if you start them with `fork` (of `node:child_process` or `node:cluster`) and they
 * use an `ElectionSupervisor`, or `registerWithGuardian` for sessions of their own.
 *
 * Guaranteed: the guardian does nothing to a process that lives, even if the process hangs or has closed its channel. A guardian
 * that dies or can't reach the servers changes nothing. It gives the terms of a dead process back cleanly. The dead process can no
 * longer act, so the successor doesn't wait until the lease is over. The guardian doesn't rely on reports: it writes nothing unless
 * ZooKeeper says that the session to close leads. It drops reports that don't fit, with an `error`: those of a process behind a
 * wrapper (`execPath: 'tsx'`) too, since it can't see the end of that process.
 *
 * Not guaranteed: anything about the traces of the dead process. Requests that it had sent may still arrive, and processes that
 * it had started may live on: fence with `term.token`. For commands with children of their own, see `conclave run`.
 *
 * @example
 * ```ts
 * const guardian = new SessionGuardian({ connect: 'zk1:2181,zk2:2181,zk3:2181' });
 * guardian.watch(fork('worker.js'));
 * ```
 */
export class SessionGuardian extends ReportingEmitter<SessionGuardianEvents> {
  readonly #servers: ConnectSource;
  readonly #sessionOptions: SessionOptions;
  readonly #environment: Environment;
  readonly #logger: Logger;
  readonly #children = new Map<ChildProcess, GuardedChild>();
  readonly #cleanups = new Set<Promise<void>>();
  readonly #id: string;
  #closing: Promise<void> | undefined;

  /** @throws InvalidOptionError if an option is wrong */
  constructor(options: SessionGuardianOptions) {
    super();
    const given: unknown = options;
    if (given === undefined)
      throw new InvalidOptionError('guardian', given, 'an object with at least connect');
    const { connect, session, logger } = checkOptions<SessionGuardianOptions>('guardian', given, KNOWN, {
      session: GUARDIAN_SESSION_OPTIONS,
    });
    this.#servers = absoluteConnectSource(connect); // Guarded processes report absolute paths.
    this.#logger = resolveLogger(logger);
    this.#sessionOptions = {
      ...checkOptions<SessionOptions>('session', session, GUARDIAN_SESSION_OPTIONS),
      logger: this.#logger,
    };
    this.#environment = resolveSessionOptions(this.#sessionOptions, this.#logger).environment;
    this.#id = this.#environment.uuid();
  }

  /**
   * Guards a child process from now on, until it has ended. Does nothing if it has ended already, or is guarded.
   *
   * @throws InvalidOptionError if it isn't a child that was made with `fork`
   * @throws InvalidStateError if the guardian was closed
   */
  watch(child: ChildProcess | ClusterWorker): void {
    const process = childProcessOf(child);
    if (this.#closing !== undefined) throw new InvalidStateError('the guardian was closed');
    if (this.#children.has(process) || hasEnded(process)) return;
    if (process.channel === undefined || process.channel === null)
      throw new InvalidOptionError('child', `a process without a channel (pid ${process.pid})`, EXPECTED);
    this.#children.set(process, this.#guard(process));
  }

  /** @internal How many processes it guards. */
  get guarded(): number {
    return this.#children.size;
  }

  /** @internal The role of a guarded process, as far as it has reported it. */
  roleOf(child: ChildProcess): ElectionRole {
    return this.#children.get(child)?.known.role ?? 'none';
  }

  /**
   * Stops guarding. Resolves when the clean-ups under way are done, after two session timeouts of these sessions at most.
   * Idempotent; never rejects.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Closes it, for `await using`: the same as `close()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    // Of a process that has ended, the last messages may be on their way. Its clean-up waits for them.
    for (const [child, { release }] of this.#children) if (!hasEnded(child)) release();
    this.#children.clear();
    await Promise.all(this.#cleanups);
  }

  #guard(child: ChildProcess): GuardedChild {
    const known = new GuardedProcess();
    const { clock } = this.#environment;
    let nextAttach: Timer | undefined;
    let hasReported = false;
    const attach = (pauseMs: number) => {
      send(child, { kind: 'attach', guardian: this.#id });
      nextAttach = clock.after(pauseMs, () => attach(nextPauseMs(pauseMs)), { background: true });
    };
    const onMessage = (received: unknown) => {
      const report = decodeChildMessage(received);
      if (report === undefined) return;
      nextAttach?.clear();
      const before = known.role;
      const refusal = this.#receive(child, known, report);
      if (refusal !== undefined && !hasReported) {
        hasReported = true; // Once: the process may repeat its message.
        this.report(new Error(`the process ${child.pid} ${refusal}`));
      }
      if (known.role !== before) this.emit('roleChanged', child, known.role);
    };
    const onExit = () => {
      nextAttach?.clear();
      const cleanup = this.#cleanUp(child, known).finally(() => {
        child.off('message', onMessage);
        this.#cleanups.delete(cleanup);
      });
      this.#cleanups.add(cleanup);
    };
    child.on('message', onMessage).once('exit', onExit);
    attach(FIRST_PAUSE_MS);
    return {
      known,
      release: () => {
        nextAttach?.clear();
        child.off('message', onMessage).off('exit', onExit);
        send(child, { kind: 'detach', guardian: this.#id });
      },
    };
  }

  /** Why a message isn't kept, if it isn't. */
  #receive(child: ChildProcess, known: GuardedProcess, { pid, message }: ChildReport): string | undefined {
    // Nothing tells this process when that one ends. It may live on, and lead, when this child has ended.
    if (pid !== child.pid)
      return `passes on the messages of process ${pid}, as a wrapper does (for example execPath: 'tsx'). Process ${pid} isn't guarded: start it without the wrapper, for example with execArgv: ['--import', 'tsx'], or with exec in a shell's script`;
    const isTaken = [...this.#children].some(
      ([other, guarded]) => other !== child && guarded.known.has(message.session),
    );
    // The other process lives: to close its session would take the term from a leader that may act.
    if (isTaken) return 'reports the session of another guarded process: the guardian ignores that report';
    if (known.receive(message)) return undefined;
    return `has reported more than ${MOST_SESSIONS} sessions or ${MOST_ELECTIONS} elections: the others end only at their session timeouts. Use fewer in one process`;
  }

  /** The process has ended. Never rejects. */
  async #cleanUp(child: ChildProcess, known: GuardedProcess): Promise<void> {
    const { clock } = this.#environment;
    const endedAt = clock.now();
    await this.#lastMessages(child);
    this.#children.delete(child);
    const open = known.openSessions();
    if (open.length === 0) return;
    const sessions = await Promise.all(
      open.map((session) => cleanUpSession(this.#servers, session, this.#sessionOptions)),
    );
    for (const { cause } of sessions) {
      if (cause === undefined) continue;
      this.report(
        new Error(`a session of the dead process ${child.pid} was not cleaned up: ${describe(cause)}`, {
          cause,
        }),
      );
    }
    const report: CleanupReport = { pid: child.pid, sessions, tookMs: clock.now() - endedAt };
    const { pid: childPid, ...rest } = report; // A line of pino has its own `pid`.
    this.#logger.info({ childPid, ...rest }, 'cleaned up the sessions of a dead process');
    this.emit('cleanedUp', report);
  }

  /** The event of its end may overtake its last messages. */
  async #lastMessages(child: ChildProcess): Promise<void> {
    if (!child.connected) return;
    const disconnected = new Promise<void>((resolve) => child.once('disconnect', () => resolve()));
    await settledWithin(this.#environment.clock, disconnected, LAST_MESSAGES_MS);
  }

  /** @internal */
  protected override get reporting(): Reporting<SessionGuardianEvents> {
    return { events: GUARDIAN_EVENTS, logger: this.#logger, message: 'something went wrong in the guardian' };
  }
}

mark(SessionGuardian, 'SessionGuardian');

/**
 * @internal The pause after the next `attach`. It is 10 s and a hundredth of the time since the first one. Node keeps each message for a process that
 * doesn't listen to any, about 150 bytes, for as long as that process runs. With these pauses there are about a thousand in a year.
 */
export function nextPauseMs(pauseMs: number): number {
  if (pauseMs < LONG_PAUSE_MS) return Math.min(2 * pauseMs, LONG_PAUSE_MS);
  return Math.min(1.01 * pauseMs, LONGEST_PAUSE_MS);
}

interface GuardedChild {
  readonly known: GuardedProcess;
  release(): void; // From now on the process isn't guarded, and is notified of that.
}

const EXPECTED = 'a child process made with fork, of node:child_process or node:cluster';

function childProcessOf(child: ChildProcess | ClusterWorker): ChildProcess {
  const process: unknown = isChildProcess(child) ? child : child?.process;
  if (isChildProcess(process)) return process;
  throw new InvalidOptionError('child', child, EXPECTED);
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Not to a process that is ending, whose channel is closed. */
function send(child: ChildProcess, message: GuardianMessage): void {
  if (child.connected) child.send(encodeGuardianMessage(message), () => undefined);
}

/** Whether it is a process that this one has started. */
export function isChildProcess(value: unknown): value is ChildProcess {
  // Loaded only when it is used: that takes its time.
  return value instanceof process.getBuiltinModule('node:child_process').ChildProcess;
}

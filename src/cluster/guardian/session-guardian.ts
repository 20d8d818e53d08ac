import type { ChildProcess } from 'node:child_process';
import type { Worker as ClusterWorker } from 'node:cluster';
import { mark } from '../../classes/copies.js';
import { describe, InvalidOptionError, InvalidStateError, type ListenerError } from '../../errors.js';
import { settledWithin } from '../../platform/async/promises.js';
import { checkOptions } from '../../platform/checks.js';
import type { Environment } from '../../platform/environment.js';
import { type Logger, logError, resolveLogger } from '../../platform/logging/logger.js';
import { type EventNames, SafeEmitter } from '../../platform/safe-emitter.js';
import type { Timer } from '../../platform/time/clock.js';
import { type ConnectTarget, parseConnectString } from '../../session/connection/connect-string.js';
import { resolveSessionOptions, type SessionOptions } from '../../session/session-options.js';
import { isChildProcess } from './child-process.js';
import { type ElectionRole, GuardedProcess, MOST_ELECTIONS, MOST_SESSIONS } from './guarded-process.js';
import {
  type ChildMessage,
  decodeChildMessage,
  encodeGuardianMessage,
  type GuardianMessage,
} from './guardian-messages.js';
import { cleanUpSession, type SessionCleanup } from './session-cleanup.js';

/** How a {@link SessionGuardian} reaches the servers. */
export interface SessionGuardianOptions {
  /** The servers, as the guarded processes name them; a chroot is of no account. */
  readonly connect: string;
  /**
   * Who the guarded processes are to the servers, and how they speak to them: `auth` and `tls` as theirs. Without their
   * credentials their sessions can be closed, but not what they led be given back.
   */
  readonly session?: Pick<SessionOptions, 'auth' | 'tls' | 'environment'>;
  /** Any logger with pino's methods. @default pino at the level of CONCLAVE_LOG_LEVEL, else warnings and errors on stderr */
  readonly logger?: Logger;
}

/** What a guardian did after the end of one process. */
export interface CleanupReport {
  readonly pid: number | undefined;
  /** A line for each session that it had open. */
  readonly sessions: readonly SessionCleanup[];
  /** How long it took from the news of the process's end, in milliseconds. */
  readonly tookMs: number;
}

/** The events of a {@link SessionGuardian}. */
export interface SessionGuardianEvents {
  /** A process that it guards has ended, and what it had open has been wound up. Not if it had nothing open. */
  buried(burial: CleanupReport): void;
  /**
   * What a process had open couldn't be wound up: it ends by its session timeout. Or a process said what isn't so, or too
   * much; or a listener failed.
   */
  error(error: Error): void;
  /** @internal A process stands elsewhere now. */
  standing(child: ChildProcess, standing: ElectionRole): void;
}

/** @internal */
export const GUARDIAN_EVENTS: EventNames<SessionGuardianEvents> = {
  buried: true,
  error: true,
  standing: false,
};

// A process that reads its messages answers the first greeting; one that is still starting may miss some.
const FIRST_GREETING_AFTER_MS = 50;
const LONGEST_PAUSE_MS = 10_000;
// What a process said last is read by now, or its channel is held open by a process that it has left behind.
const LAST_WORDS_MS = 100;

/**
 * Closes the sessions of child processes when these have ended, so that who comes next needn't wait for a session timeout:
 * a killed leader is replaced in milliseconds. Lives in the parent; the children tell it by themselves over IPC what
 * sessions they have and what they lead, if they were made with `fork` (of `node:child_process` or `node:cluster`), and
 * use an `ElectionSupervisor`, or `registerWithGuardian` for sessions of their own.
 *
 * Guaranteed: nothing is done to a process that lives, also when it stands still or has closed its channel; a guardian
 * that dies or can't reach the servers changes nothing. What a dead process led is given back cleanly, so that the successor
 * doesn't wait out its lease: it can't act any more. What a process says isn't believed: nothing is written unless
 * ZooKeeper says that the session to be closed leads; what doesn't fit is dropped with `error`.
 *
 * Not guaranteed: anything about what the dead process has left behind. What it had sent may still arrive, and processes
 * that it had started may live on; fence with `term.token`. See `conclave run` for commands with children of their own.
 *
 * @example
 * ```ts
 * const guardian = new SessionGuardian({ connect: 'zk1:2181,zk2:2181,zk3:2181' });
 * guardian.watch(fork('worker.js'));
 * ```
 */
export class SessionGuardian extends SafeEmitter<SessionGuardianEvents> {
  readonly #servers: ConnectTarget;
  readonly #sessionOptions: SessionOptions;
  readonly #environment: Environment;
  readonly #logger: Logger;
  readonly #watches = new Map<ChildProcess, Watch>();
  readonly #burials = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  /** @throws InvalidOptionError if an option is wrong */
  constructor(options: SessionGuardianOptions) {
    super();
    const given: unknown = options;
    if (given === undefined)
      throw new InvalidOptionError('guardian', given, 'an object with at least connect');
    const { connect, session, logger } = checkOptions<SessionGuardianOptions>('guardian', given, [
      'connect',
      'session',
      'logger',
    ]);
    this.#servers = { ...parseConnectString(connect), chroot: '' }; // Its wards tell absolute paths.
    this.#logger = resolveLogger(logger);
    const known = ['auth', 'tls', 'environment'] as const;
    this.#sessionOptions = {
      ...checkOptions<SessionOptions>('session', session, known),
      logger: this.#logger,
    };
    this.#environment = resolveSessionOptions(this.#sessionOptions, this.#logger).environment;
  }

  /**
   * Guards a child process from now on, until that has ended; harmless if it has already, or is guarded.
   *
   * @throws InvalidOptionError if it isn't a child that was made with `fork`
   * @throws InvalidStateError if the guardian was closed
   */
  watch(child: ChildProcess | ClusterWorker): void {
    const process = childProcessOf(child);
    if (this.#closing !== undefined) throw new InvalidStateError('the guardian was closed');
    if (this.#watches.has(process) || hasEnded(process)) return;
    if (process.channel === undefined || process.channel === null)
      throw new InvalidOptionError('child', `a process without a channel (pid ${process.pid})`, EXPECTED);
    this.#watches.set(process, this.#guard(process));
  }

  /** @internal Where a process that is guarded stands, as far as it told. */
  standingOf(child: ChildProcess): ElectionRole {
    return this.#watches.get(child)?.ward.standing ?? 'none';
  }

  /**
   * Guards nothing any more. Resolves when what was under way has been done, after two session timeouts of those
   * concerned at most. Idempotent; never rejects.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    for (const watch of this.#watches.values()) watch.end('farewell');
    this.#watches.clear();
    await Promise.all(this.#burials);
  }

  #guard(child: ChildProcess): Watch {
    const ward = new GuardedProcess();
    const { clock } = this.#environment;
    let greeting: Timer | undefined;
    let complained = false;
    const greet = (pauseMs: number) => {
      say(child, 'greeting');
      const next = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      greeting = clock.after(pauseMs, () => greet(next), { background: true });
    };
    const onMessage = (message: unknown) => {
      const word = decodeChildMessage(message);
      if (word === undefined) return;
      greeting?.clear();
      const before = ward.standing;
      const refusal = this.#hear(child, ward, word);
      if (refusal !== undefined && !complained) {
        complained = true; // Once: it may go on saying so.
        this.#report(new Error(`the process ${child.pid} ${refusal}`));
      }
      if (ward.standing !== before) this.emit('standing', child, ward.standing);
    };
    const onExit = () => {
      greeting?.clear();
      this.#burying(this.#bury(child, ward).finally(() => child.off('message', onMessage)));
    };
    child.on('message', onMessage).once('exit', onExit);
    greet(FIRST_GREETING_AFTER_MS);
    return {
      ward,
      end: (word) => {
        greeting?.clear();
        child.off('message', onMessage).off('exit', onExit);
        say(child, word);
      },
    };
  }

  /** Why a word isn't kept, if it isn't. */
  #hear(child: ChildProcess, ward: GuardedProcess, word: ChildMessage): string | undefined {
    const isTaken = [...this.#watches].some(
      ([other, watch]) => other !== child && watch.ward.has(word.session),
    );
    // Its process lives: to close its session would take the term from a leader that may act.
    if (isTaken)
      return 'says that it has the session of another process that is guarded: that is not believed';
    if (ward.hear(word)) return undefined;
    return `has told of more than ${MOST_SESSIONS} sessions or ${MOST_ELECTIONS} elections: the others end by their session timeouts. Use fewer in one process`;
  }

  #burying(burial: Promise<void>): void {
    const done = burial.finally(() => this.#burials.delete(done));
    this.#burials.add(done);
  }

  /** Its process has ended. Never rejects. */
  async #bury(child: ChildProcess, ward: GuardedProcess): Promise<void> {
    const { clock } = this.#environment;
    const endedAt = clock.now();
    await this.#lastWords(child);
    this.#watches.delete(child);
    const estates = ward.estates();
    if (estates.length === 0) return;
    const sessions = await Promise.all(
      estates.map((estate) => cleanUpSession(this.#servers, estate, this.#sessionOptions)),
    );
    for (const { cause } of sessions) {
      if (cause === undefined) continue;
      this.#report(new Error(`a session of the dead process ${child.pid}: ${describe(cause)}`, { cause }));
    }
    const burial = { pid: child.pid, sessions, tookMs: clock.now() - endedAt };
    this.#logger.info(burial, 'wound up what a dead process had open');
    this.emit('buried', burial);
  }

  /** The news of its end may overtake what it said last. */
  async #lastWords(child: ChildProcess): Promise<void> {
    if (!child.connected) return;
    const disconnected = new Promise<void>((resolve) => child.once('disconnect', () => resolve()));
    await settledWithin(this.#environment.clock, disconnected, LAST_WORDS_MS);
  }

  #report(error: Error): void {
    logError(this.#logger, error, 'something went wrong in the guardian', this);
    this.emit('error', error);
  }

  /** @internal */
  protected override get knownEvents(): EventNames<SessionGuardianEvents> {
    return GUARDIAN_EVENTS;
  }

  protected override reportListenerError(error: ListenerError): void {
    if (error.event === 'error') this.#logger.error({ cause: describe(error) }, 'a listener failed');
    else this.#report(error);
  }
}

mark(SessionGuardian, 'SessionGuardian');

/** One process that is guarded. */
interface Watch {
  readonly ward: GuardedProcess;
  /** It is guarded no more, and told so. */
  end(word: GuardianMessage): void;
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

/** It may be ending: whoever can't hear has nothing to be told. */
function say(child: ChildProcess, word: GuardianMessage): void {
  if (child.connected) child.send(encodeGuardianMessage(word), () => undefined);
}

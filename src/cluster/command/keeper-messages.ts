import type { MachineInstant } from '../../platform/time/clock.js';
import type { ConnectTarget } from '../../session/connection/connect-string.js';
import type { SessionOptions } from '../../session/session-options.js';
import type { OpenSession } from '../guardian/guarded-process.js';

/** What the process that leads tells the keeper of its command, over the channel between parent and child. */
export type KeeperCommand =
  /** To wind this up when the process that leads has ended, and nothing of the command is left. The newest word counts. */
  | { readonly do: 'inherit'; readonly legacy: ExitCleanup }
  /** To leave alone what was to be wound up: the process that leads sees to it, and closes the channel. */
  | { readonly do: 'disinherit' }
  /** To start the command, unless the lease is over by then. Once. */
  | ({ readonly do: 'start' } & CommandLine & Terms)
  /** The lease has been renewed. */
  | { readonly do: 'extend'; readonly leaseEnd: MachineInstant }
  /** To send the command, and all that comes from it, a signal. */
  | { readonly do: 'forward'; readonly signal: NodeJS.Signals }
  /** To end it: with this signal, and SIGKILL after the grace. */
  | { readonly do: 'end'; readonly signal: NodeJS.Signals; readonly graceMs?: number };

/** A command, as it is started: without a shell. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** For how long it may run. */
export interface Terms {
  readonly leaseEnd: MachineInstant;
  readonly leaseMs: number;
  /** How long it may take to end when it is asked to, as long as the lease lasts. */
  readonly graceMs: number;
}

/** What the process that leads would leave behind, and how the servers are reached. */
export interface ExitCleanup {
  /** The process id of that process. */
  readonly of: number;
  /** Without a chroot: the estate's paths are absolute. */
  readonly servers: ConnectTarget;
  readonly session: Pick<SessionOptions, 'auth' | 'tls'>;
  readonly estate: OpenSession;
}

/** What the keeper tells in return. */
export type KeeperEvent =
  /** It can start a command. */
  | { readonly is: 'ready' }
  /** The command runs, in a session of processes of its own with that number. */
  | { readonly is: 'started'; readonly session: number; readonly startedAt?: number }
  /** The lease was over, or as good as over, before the command could be started. */
  | { readonly is: 'too-late' }
  /** The system refuses to start it. */
  | { readonly is: 'refused'; readonly why: string }
  /** The lease wasn't renewed in time: the command is being ended. */
  | { readonly is: 'running-out' }
  /** The command itself has ended; others that come from it may be left. */
  | { readonly is: 'exited'; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  /** Nothing of it runs any more: the keeper's last word. */
  | { readonly is: 'gone' };

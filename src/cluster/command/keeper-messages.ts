/**
 * The channel between the runner (the `conclave run` process, which holds the session) and its keeper, a child process.
 * Both are of one build, so these messages may change in any version.
 */
import type { MachineInstant } from '../../platform/time/clock.js';
import type { ConnectTarget } from '../../session/connection/connect-string.js';
import type { SessionOptions } from '../../session/session-options.js';
import type { OpenSession } from '../guardian/guarded-process.js';

/** What the runner sends. */
export type KeeperCommand =
  /** What to clean up when the runner has ended and nothing of the command is left. The newest registration counts. */
  | { readonly do: 'register-cleanup'; readonly cleanup: ExitCleanup }
  /** Clean up nothing: the runner closes its session itself, and closes the channel. */
  | { readonly do: 'unregister-cleanup' }
  /** Start the command, unless the lease is over by then. Sent once. */
  | ({ readonly do: 'start' } & CommandLine & CommandLease)
  /** The lease has been renewed. */
  | { readonly do: 'extend-lease'; readonly leaseEnd: MachineInstant }
  /** Send the command and its descendants a signal. */
  | { readonly do: 'forward'; readonly signal: NodeJS.Signals }
  /** End the command: with this signal, and SIGKILL after the grace. */
  | { readonly do: 'end'; readonly signal: NodeJS.Signals; readonly graceMs?: number };

/** A command to start, without a shell. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How long a command may run. */
export interface CommandLease {
  readonly leaseEnd: MachineInstant;
  readonly leaseMs: number;
  /** How long the command may take to end after it was asked to, as long as the lease lasts. */
  readonly graceMs: number;
}

/** The session that the runner would leave behind, and how to reach its servers. */
export interface ExitCleanup {
  /** The runner's process id. */
  readonly parentPid: number;
  /** Without a chroot: the paths in `openSession` are absolute. */
  readonly servers: ConnectTarget;
  readonly sessionOptions: Pick<SessionOptions, 'auth' | 'tls'>;
  readonly openSession: OpenSession;
}

/** What the keeper sends. */
export type KeeperEvent =
  /** It can start a command. */
  | { readonly is: 'ready' }
  /** The command runs, in a session of processes with this number. */
  | { readonly is: 'started'; readonly session: number; readonly startedAt?: number }
  /** The lease was over, or nearly over, before the command could be started. */
  | { readonly is: 'too-late' }
  /** The system refuses to start the command. */
  | { readonly is: 'refused'; readonly reason: string }
  /** The lease wasn't renewed in time: the command is being ended. */
  | { readonly is: 'lease-running-out' }
  /** The command itself has ended; descendants may be left. */
  | { readonly is: 'exited'; readonly code: number | null; readonly signal: NodeJS.Signals | null }
  /** Nothing of the command runs any more. The keeper's last message. */
  | { readonly is: 'gone' };

/**
 * The channel between the runner (the `conclave run` process, which holds the session) and its keeper, a child process.
 * Both are of one build, so these messages may change in any version.
 */
import type { MachineInstant } from '../../platform/time/machine-instant.js';
import type { SessionOptions } from '../../session/session-options.js';
import type { TlsFiles } from '../../session/tls-files.js';
import type { OpenSession } from '../dead-children/guarded-process.js';

/** The runner's messages. */
export type KeeperCommand =
  /** Clean this up when the runner has ended and nothing of the command is left. The newest registration counts. */
  | { readonly do: 'register-cleanup'; readonly cleanup: ExitCleanup }
  | { readonly do: 'unregister-cleanup' } // Clean up nothing: the runner closes its session itself, and closes the channel.
  /** Start the command, unless the lease is over. Sent once. `endsWithRunner`: if the runner is gone, the command has no grace. */
  | ({ readonly do: 'start'; readonly endsWithRunner: boolean } & CommandLine & CommandLease)
  | { readonly do: 'extend-lease'; readonly leaseEnd: MachineInstant } // The lease has been renewed.
  | { readonly do: 'forward'; readonly signal: NodeJS.Signals } // Send the command and its descendants a signal.
  | { readonly do: 'end'; readonly signal: NodeJS.Signals; readonly graceMs?: number }; // SIGKILL follows after the grace.

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
  readonly graceMs: number; // How long the command may take to end after it was asked to, as long as the lease lasts.
}

/** The session that the runner would leave behind, and how to reach its servers. */
export interface ExitCleanup {
  readonly parentPid: number; // The runner's process id.
  readonly connect: string; // Its chroot has no effect: the paths in `openSession` are absolute.
  readonly auth: SessionOptions['auth']; // No function: those can't be sent.
  readonly sasl: SessionOptions['sasl']; // No function and no mechanism, for the same reason.
  readonly tlsFiles: TlsFiles | undefined; // The keeper reads them itself, when it connects.
  readonly openSession: OpenSession;
}

/** The keeper's messages. */
export type KeeperEvent =
  | { readonly is: 'ready' } // It can start a command.
  | { readonly is: 'started'; readonly session: number; readonly startedAt?: number } // In this session of processes.
  | { readonly is: 'too-late' } // The lease was over, or nearly over, before the command could be started.
  | { readonly is: 'refused'; readonly reason: string } // The system refuses to start the command.
  | { readonly is: 'lease-running-out' } // The lease wasn't renewed in time: the command is being ended.
  | { readonly is: 'exited'; readonly code: number | null; readonly signal: NodeJS.Signals | null } // Descendants may be left.
  | { readonly is: 'gone' }; // Nothing of the command runs any more. The keeper's last message.

/** The mark of a keeper, in the environment of its command: it finds a command whose start the keeper hasn't reported. */
export const MARK = 'CONCLAVE_KEEPER';

/**
 * Whether this process belongs to the command of a keeper. That keeper's signals reach the process session of its command, and nothing that
 * has a session of its own. So all that this process starts has to be in that session, or has to end as soon as this process is killed.
 */
export function isBelowKeeper(): boolean {
  return process.env[MARK] !== undefined;
}

import { hostname } from 'node:os';
import { InvalidOptionError } from '../errors.js';
import {
  checkBoolean,
  checkFunction,
  checkId,
  checkMetadata,
  checkMs,
  checkOneOf,
  checkOptions,
  checkSeats,
} from '../platform/checks.js';
import { type Logger, resolveLogger } from '../platform/logging/logger.js';
import type { Session } from '../session/session.js';
import { HIGHEST_PRIORITY } from './nodes/priority.js';
import type { Term } from './term/term.js';

/** How a candidate campaigns and leads. All times are in milliseconds. */
export interface CandidacyOptions {
  /** Data that it advertises, up to 16 KiB: an address, for example. Every client that may read the election sees it. */
  readonly data?: string | Uint8Array;
  /**
   * The leader's work, called when a term begins. When the promise that it returns has settled, the term is released and the
   * elector joins the queue again. End it soon after `term.signal` aborts: the term isn't released before.
   */
  readonly lead?: (term: Term) => unknown;
  /**
   * The least time that this candidate waits before it claims, after a leader has ended uncleanly. A time that is shorter than
   * that leader's lease with 3 % and 50 ms has no effect. These are the whole margin for clocks. Give more where clocks can't
   * be trusted: the clock of a guest may stand still while its host migrates it live. @default what the lease needs
   */
  readonly takeoverDelayMs?: number;
  /**
   * When a leader that is silent may be replaced. `lease`: when its lease is surely over, and no heartbeat of it has come
   * meanwhile. `session`: when its session has ended as well, a session timeout and up to a tick of the servers later.
   *
   * With either, two leaders never act at once if they ask `term.isHeld()` before each act. The choice matters for work that
   * doesn't ask. A leader that stands still for longer than a lease, and then goes on, acts once more before it notices. With
   * `session` no other candidate leads by then, unless the leader stood still for longer than the session timeout.
   *
   * A leader's own choice applies to its term. A session with 64 such terms has `session` for further ones.
   * @default 'lease'
   */
  readonly takeover?: 'lease' | 'session';
  /** What happens if work outlasts its lease: `report` it by an `error` event, or `exit` the process with code 70. @default 'report' */
  readonly onOverrun?: 'report' | 'exit';
  /**
   * Whether a separate thread ends the process by SIGKILL when the main thread has been blocked past the end of a term's
   * lease. Nothing else can stop such a process, and its next action would be that of a replaced leader. Use it for work that
   * may block and can't be fenced. A process that was paused for as long is killed too. @default false
   */
  readonly watchdog?: boolean;
  /**
   * From 0 to 255. At each change of the leader the candidate with the highest priority leads next, wherever it is in the
   * queue; among equals the queue decides. No leader has to step down for it. A candidate counts once its `start()` has
   * resolved. A candidate that joins while a term is being given back may have to wait for the change after that, and so may
   * a candidate whose session may not write the leader's node. @default 0
   */
  readonly priority?: number;
  /**
   * How many candidates lead at once, each with its own seat number and terms: for pools of active workers. The number is
   * the same for all candidates, for good: a candidate with another number is refused with `SeatsMismatchError`. With
   * several seats the queue alone decides which candidate leads next, so `priority` isn't allowed. @default 1
   */
  readonly seats?: number;
  /**
   * Decides whether to step down when `revokeLeader` asks. `false`, or a promise of it, refuses. You may use the request's
   * grace to finish work. If the function throws, or hasn't answered by the end of the grace, the term ends.
   * @default steps down at once
   */
  readonly onRevoke?: (revocation: Revocation) => boolean | undefined | Promise<boolean | undefined>;
}

/** Options of a {@link LeaderElector}. All times are in milliseconds. */
export interface LeaderElectorOptions extends CandidacyOptions {
  /** The candidate's name, up to 256 characters. @default host name, process id and a random part */
  readonly id?: string;
  /** Any logger with pino's methods. @default the session's */
  readonly logger?: Logger;
}

/** A request to step down. */
export interface Revocation {
  /** The name that the requester gave itself. */
  readonly by: string;
  /** How long the leader's work may take to settle, in milliseconds. */
  readonly graceMs: number;
  /** The candidate that is to lead next, if the requester names one: its id, or the name of its node. It is in the queue. */
  readonly to?: string;
  /** The term that is to end. */
  readonly term: Term;
}

/** @internal Options that were checked, with their defaults. */
export type ResolvedElectorOptions = ReturnType<typeof resolveElectorOptions>;

/** The names of the options that an elector and a supervisor have in common. */
export const CANDIDACY_OPTIONS = [
  'data',
  'lead',
  'takeoverDelayMs',
  'takeover',
  'onOverrun',
  'watchdog',
  'priority',
  'seats',
  'onRevoke',
] as const;

const KNOWN = ['id', ...CANDIDACY_OPTIONS, 'logger'] as const;

/** @throws InvalidOptionError naming the option, the value and what would be right */
export function resolveElectorOptions(given: unknown, session: Session) {
  const options = checkOptions<LeaderElectorOptions>('elector', given, KNOWN);
  return {
    ...checkCandidacyOptions(options),
    id: checkId('id', options.id) ?? defaultId(session.environment.uuid()),
    logger: options.logger === undefined ? session.logger : resolveLogger(options.logger),
  };
}

/** Checks the options that an elector and a supervisor have in common. @throws InvalidOptionError */
export function checkCandidacyOptions(options: CandidacyOptions) {
  const seats = options.seats === undefined ? 1 : checkSeats('seats', options.seats);
  return {
    data: checkMetadata('data', options.data),
    lead: checkFunction('lead', options.lead),
    takeoverDelayMs: checkMs('takeoverDelayMs', options.takeoverDelayMs),
    takeover: checkOneOf('takeover', options.takeover, ['lease', 'session'], 'lease'),
    onOverrun: checkOneOf('onOverrun', options.onOverrun, ['report', 'exit'], 'report'),
    watchdog: checkBoolean('watchdog', options.watchdog, false),
    priority: checkPriority(options.priority, seats),
    seats,
    onRevoke: checkFunction('onRevoke', options.onRevoke),
  };
}

function checkPriority(value: unknown, seats: number): number {
  if (value === undefined) return 0;
  if (seats > 1 && value !== 0) throw new InvalidOptionError('priority', value, 'none with several seats');
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= HIGHEST_PRIORITY)
    return value as number;
  throw new InvalidOptionError('priority', value, `a whole number from 0 to ${HIGHEST_PRIORITY}`);
}

/** A readable name that differs from those of other candidates on this host, and of earlier ones. */
export function defaultId(uuid: string): string {
  return `${hostname()}-${process.pid}-${uuid.slice(0, 8)}`;
}

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
import type { Logger } from '../platform/logging/logger.js';
import { resolveLogger } from '../platform/logging/logger.js';
import type { Session } from '../session/session.js';
import { HIGHEST_PRIORITY } from './nodes/priority.js';
import type { Term } from './term/term.js';

/** How a candidate stands and leads. All times are in milliseconds. */
export interface CandidacyOptions {
  /** What it tells the others about itself, up to 16 KiB: an address, say. Anybody may read it. */
  readonly data?: string | Uint8Array;
  /**
   * The leader's work. Called when a term begins; when what it returns has settled the term is given back and the
   * elector stands again. It should end soon after `term.signal` aborts: only then can another lead.
   */
  readonly lead?: (term: Term) => unknown;
  /**
   * How long to wait before claiming after a leader ended uncleanly. 0 gives the shorter failover and takes away
   * the promise that two leaders never act at once: fence then. @default what the former leader's lease needs
   */
  readonly takeoverDelayMs?: number;
  /**
   * What to do when work still runs at the lease's end: `report` it through `error`, or `exit` the process, with
   * code 70, so that it surely acts no more. @default 'report'
   */
  readonly onOverrun?: 'report' | 'exit';
  /**
   * Ends the process, by SIGKILL from a thread of its own, when the main thread has been blocked past the end of a
   * term's lease: nothing else can stop it then, and whatever it does next it would do as a replaced leader. For work
   * that may block and can't be fenced. A process that was paused for as long is killed too. @default false
   */
  readonly watchdog?: boolean;
  /**
   * From 0 to 255. At each change of the leader the candidate with the highest priority goes next, whatever its place in
   * the queue; among equals the queue decides. Nobody is ever made to step down for it. Who has joined reckons: whose
   * `start()` has resolved. One that joins while a term is being given back may have to wait for the change after, and so
   * may one whose session mayn't write on the leader's node. @default 0
   */
  readonly priority?: number;
  /**
   * How many lead at once, each with its own seat number and terms: for pools of active workers. The same for all
   * candidates, and for good: whoever is given another number is refused with `SeatsMismatchError`. With several seats the
   * queue alone decides who leads next, so without `priority`. @default 1
   */
  readonly seats?: number;
  /**
   * Whether to step down when somebody asks for it with `revokeLeader`: `false`, or a promise of it, refuses. It may use
   * the request's grace to bring work to an end; when it has said nothing by then, or throws, the term ends.
   * @default yes, at once
   */
  readonly onRevoke?: (revocation: Revocation) => boolean | undefined | Promise<boolean | undefined>;
}

/** How a {@link LeaderElector} stands and leads. All times are in milliseconds. */
export interface LeaderElectorOptions extends CandidacyOptions {
  /** What it calls itself, up to 256 characters. @default host name, process id and a random part */
  readonly id?: string;
  /** Any logger with pino's methods. @default the session's */
  readonly logger?: Logger;
}

/** A request to step down. */
export interface Revocation {
  /** Who asks, as it calls itself. */
  readonly by: string;
  /** How long the leader may take until its work has settled, in milliseconds. */
  readonly graceMs: number;
  /** The term that is asked for. */
  readonly term: Term;
}

/** @internal Options that were checked, with their defaults. */
export interface ResolvedCandidacyOptions {
  readonly data: string | Uint8Array | undefined;
  readonly lead: ((term: Term) => unknown) | undefined;
  readonly takeoverDelayMs: number | undefined;
  readonly onOverrun: 'report' | 'exit';
  readonly watchdog: boolean;
  readonly priority: number;
  readonly seats: number;
  readonly onRevoke: CandidacyOptions['onRevoke'];
}

/** @internal */
export interface ResolvedElectorOptions extends ResolvedCandidacyOptions {
  readonly id: string;
  readonly logger: Logger;
}

/** The names of the options that an elector and a supervisor have in common. */
export const CANDIDACY_OPTIONS = [
  'data',
  'lead',
  'takeoverDelayMs',
  'onOverrun',
  'watchdog',
  'priority',
  'seats',
  'onRevoke',
] as const;

/** @throws InvalidOptionError naming the option, the value and what would be right */
export function resolveElectorOptions(given: unknown, session: Session): ResolvedElectorOptions {
  const options = checkOptions<LeaderElectorOptions>('elector', given, [
    'id',
    ...CANDIDACY_OPTIONS,
    'logger',
  ]);
  return {
    ...checkCandidacyOptions(options),
    id: checkId('id', options.id) ?? defaultId(session.environment.uuid()),
    logger: options.logger === undefined ? session.logger : resolveLogger(options.logger),
  };
}

/** Checks what an elector and a supervisor have in common. @throws InvalidOptionError */
export function checkCandidacyOptions(options: CandidacyOptions): ResolvedCandidacyOptions {
  const seats = options.seats === undefined ? 1 : checkSeats('seats', options.seats);
  return {
    data: checkMetadata('data', options.data),
    lead: checkFunction('lead', options.lead),
    takeoverDelayMs: checkMs('takeoverDelayMs', options.takeoverDelayMs),
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

/** A name that people can read and that tells apart what runs on one host, and what ran there before. */
export function defaultId(uuid: string): string {
  return `${hostname()}-${process.pid}-${uuid.slice(0, 8)}`;
}

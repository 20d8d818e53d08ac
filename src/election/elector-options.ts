import { hostname } from 'node:os';
import type { Logger } from '../logger.js';
import { resolveLogger } from '../logger.js';
import { checkFunction, checkId, checkMetadata, checkMs, checkOneOf, checkOptions } from '../options.js';
import type { Session } from '../session/session.js';
import type { Term } from './term.js';

/** How a {@link LeaderElector} stands and leads. All times are in milliseconds. */
export interface LeaderElectorOptions {
  /** What it calls itself, up to 256 characters. @default host name, process id and a random part */
  readonly id?: string;
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
  /** Any logger with pino's methods. @default the session's */
  readonly logger?: Logger;
}

/** @internal Options that were checked, with their defaults. */
export interface ResolvedElectorOptions {
  readonly id: string;
  readonly data: string | Uint8Array | undefined;
  readonly lead: ((term: Term) => unknown) | undefined;
  readonly takeoverDelayMs: number | undefined;
  readonly onOverrun: 'report' | 'exit';
  readonly logger: Logger;
}

const KNOWN = ['id', 'data', 'lead', 'takeoverDelayMs', 'onOverrun', 'logger'] as const;

/** @throws InvalidOptionError naming the option, the value and what would be right */
export function resolveElectorOptions(given: unknown, session: Session): ResolvedElectorOptions {
  const options = checkOptions<LeaderElectorOptions>('elector', given, KNOWN);
  return {
    id: checkId('id', options.id) ?? defaultId(session.environment.uuid()),
    data: checkMetadata('data', options.data),
    lead: checkFunction('lead', options.lead),
    takeoverDelayMs: checkMs('takeoverDelayMs', options.takeoverDelayMs),
    onOverrun: checkOneOf('onOverrun', options.onOverrun, ['report', 'exit'], 'report'),
    logger: options.logger === undefined ? session.logger : resolveLogger(options.logger),
  };
}

/** A name that people can read and that tells apart what runs on one host, and what ran there before. */
export function defaultId(uuid: string): string {
  return `${hostname()}-${process.pid}-${uuid.slice(0, 8)}`;
}

import { InvalidOptionError } from '../../errors.js';
import { checkOptions, definedOnly } from '../../platform/checks.js';
import { ERROR_CODES, type ErrorName } from '../protocol/op-codes.js';
import { type LoggedOperation, OPERATION_NAMES } from '../protocol/requests.js';

/** Which requests a fault applies to. A field that is left out fits all. */
export interface FaultTarget {
  /** The kind of request; `connect` is the handshake. */
  readonly operation?: LoggedOperation;
  /** The path itself, or a pattern that it must match; for a transaction, the path of any of its parts. */
  readonly path?: string | RegExp;
  /** After how many requests the fault ends. */
  readonly times?: number;
}

/** A fault that a test has set. */
export interface Fault {
  /** How many requests it was applied to. */
  readonly hits: number;
  /** Ends the fault. Harmless when it has ended. */
  clear(): void;
}

/** How the server treats one request. */
export interface Disturbance {
  readonly failCode: number | undefined; // The request is answered with this code, and not carried out.
  readonly swallowed: boolean; // The request is carried out, not answered, and the connection is cut.
  readonly delayMs: number;
}

const UNDISTURBED: Disturbance = { failCode: undefined, swallowed: false, delayMs: 0 };

/** The faults that a test has set, and that last. */
export class Faults {
  /** The server reads nothing, writes nothing, ends no session. */
  paused = false;
  /** The server ends every new connection at once. */
  refusing = false;
  /** No byte gets through, in either direction. */
  partitioned = false;
  /** The ids of the sessions that are cut off by themselves; also after their end, so that their clients don't learn of it. */
  readonly partitionedSessions = new Set<bigint>();
  readonly #rules = new Set<Rule>();

  isCutOff(sessionId: bigint | undefined): boolean {
    return this.partitioned || (sessionId !== undefined && this.partitionedSessions.has(sessionId));
  }

  add(effect: Partial<Disturbance>, target: FaultTarget): Fault {
    const rule = new Rule(effect, target, () => this.#rules.delete(rule));
    this.#rules.add(rule);
    return rule;
  }

  /** How this request is treated. It counts for every fault that fits. */
  disturb(operation: LoggedOperation, paths: readonly string[]): Disturbance {
    if (this.#rules.size === 0) return UNDISTURBED;
    const effects = [...this.#rules].filter((rule) => rule.fits(operation, paths)).map((rule) => rule.hit());
    return effects.reduce(combine, UNDISTURBED);
  }

  clear(): void {
    this.paused = this.refusing = this.partitioned = false;
    this.partitionedSessions.clear();
    this.#rules.clear();
  }
}

class Rule implements Fault {
  hits = 0;
  readonly #effect: Partial<Disturbance>;
  readonly #target: FaultTarget;
  readonly clear: () => void;

  constructor(effect: Partial<Disturbance>, target: FaultTarget, clear: () => void) {
    this.#effect = effect;
    this.#target = target;
    this.clear = clear;
  }

  fits(operation: LoggedOperation, paths: readonly string[]): boolean {
    const { operation: wanted, path } = this.#target;
    if (wanted !== undefined && wanted !== operation) return false;
    if (path === undefined) return true;
    return paths.some((each) => (typeof path === 'string' ? each === path : each.search(path) !== -1));
  }

  hit(): Partial<Disturbance> {
    this.hits++;
    if (this.hits >= (this.#target.times ?? Infinity)) this.clear();
    return this.#effect;
  }
}

function combine(sum: Disturbance, effect: Partial<Disturbance>): Disturbance {
  return {
    failCode: sum.failCode ?? effect.failCode,
    swallowed: sum.swallowed || effect.swallowed === true,
    delayMs: sum.delayMs + (effect.delayMs ?? 0),
  };
}

const OPERATIONS: readonly string[] = [...OPERATION_NAMES, 'connect'];

/** @throws InvalidOptionError naming the option, the value and what would be right */
export function checkFaultTarget(target: FaultTarget, defaultTimes?: number): FaultTarget {
  const names = ['operation', 'path', 'times'] as const;
  const { operation, path, times = defaultTimes } = checkOptions<FaultTarget>('target', target, names);
  if (operation !== undefined && !OPERATIONS.includes(operation))
    throw new InvalidOptionError('operation', operation, `one of ${OPERATIONS.join(', ')}`);
  if (path !== undefined && typeof path !== 'string' && !(path instanceof RegExp))
    throw new InvalidOptionError('path', path, 'a path or a pattern');
  if (times !== undefined && (!Number.isInteger(times) || times < 1))
    throw new InvalidOptionError('times', times, 'a whole number over 0');
  return definedOnly<FaultTarget>({ operation, path, times });
}

/** @throws InvalidOptionError if there is no error of that name */
export function checkErrorCode(error: unknown): number {
  const code =
    typeof error === 'string' && Object.hasOwn(ERROR_CODES, error) ? ERROR_CODES[error as ErrorName] : error;
  if (typeof code === 'number' && Number.isInteger(code) && (code | 0) === code) return code;
  throw new InvalidOptionError(
    'error',
    error,
    `one of ${Object.keys(ERROR_CODES).join(', ')}, or a whole number`,
  );
}

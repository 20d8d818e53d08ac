import type { LoggedOperation } from './request-log.js';

/** Which requests a fault is for. What is left out fits all. */
export interface FaultTarget {
  /** The kind of request; `connect` is the handshake. */
  readonly operation?: LoggedOperation;
  /** The path itself, or a pattern that it must match; of a transaction, the path of any of its parts. */
  readonly path?: string | RegExp;
  /** How many requests it happens to before it is over. */
  readonly times?: number;
}

/** A fault that was ordered. */
export interface Fault {
  /** How many requests it happened to. */
  readonly hits: number;
  /** Ends it. Harmless when it is over. */
  clear(): void;
}

/** What is done with a request that isn't simply carried out. */
export interface Disturbance {
  /** Answered by this code, and not carried out. */
  readonly failCode: number | undefined;
  /** Carried out, not answered, and the connection is cut. */
  readonly swallowed: boolean;
  readonly delayMs: number;
}

type Effect =
  | { readonly kind: 'fail'; readonly code: number }
  | { readonly kind: 'swallow' }
  | { readonly kind: 'delay'; readonly ms: number };

const UNDISTURBED: Disturbance = { failCode: undefined, swallowed: false, delayMs: 0 };

/** What is wrong with the server at the moment, because a test wanted it so. */
export class Faults {
  /** It stands still: reads nothing, writes nothing, ends no session. */
  paused = false;
  /** It ends every new connection at once. */
  refusing = false;
  /** No byte comes through, in either direction. */
  partitioned = false;
  /** The ids of the sessions that alone are cut off: also when they are over, so that their clients don't learn of it. */
  readonly partitionedSessions = new Set<bigint>();
  readonly #rules = new Set<Rule>();

  isCutOff(sessionId: bigint | undefined): boolean {
    return this.partitioned || (sessionId !== undefined && this.partitionedSessions.has(sessionId));
  }

  add(effect: Effect, target: FaultTarget): Fault {
    const rule = new Rule(effect, target, () => this.#rules.delete(rule));
    this.#rules.add(rule);
    return rule;
  }

  /** What becomes of a request. Every fault that fits counts it. */
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
  readonly #effect: Effect;
  readonly #target: FaultTarget;
  readonly clear: () => void;

  constructor(effect: Effect, target: FaultTarget, clear: () => void) {
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

  hit(): Effect {
    this.hits++;
    if (this.hits >= (this.#target.times ?? Infinity)) this.clear();
    return this.#effect;
  }
}

function combine(sum: Disturbance, effect: Effect): Disturbance {
  switch (effect.kind) {
    case 'fail':
      return { ...sum, failCode: sum.failCode ?? effect.code };
    case 'swallow':
      return { ...sum, swallowed: true };
    case 'delay':
      return { ...sum, delayMs: sum.delayMs + effect.ms };
  }
}

import { ignore } from '../../src/platform/async/promises.js';

/** Something that must never happen. */
export interface Violation {
  readonly kind: string;
  readonly atMs: number;
  readonly what: string;
}

/** The results of a run. */
export class Ledger {
  readonly violations: Violation[] = [];
  /** Called with each violation. */
  onViolation: (violation: Violation) => void = ignore;
  readonly #counts = new Map<string, number>();
  readonly #longest = new Map<string, number>();
  readonly #pending = new Set<{ readonly what: string; readonly isDead: () => boolean }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  violate(kind: string, what: string): void {
    const violation = { kind, atMs: Math.round(this.#now()), what };
    this.violations.push(violation);
    this.onViolation(violation);
  }

  /** For what is looked at again and again: each violation is reported once. */
  violateOnce(kind: string, what: string): void {
    if (!this.violations.some((each) => each.kind === kind && each.what === what)) this.violate(kind, what);
  }

  count(what: string, by = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + by);
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Keeps the longest of the times that are reported under a name. */
  time(what: string, ms: number): void {
    this.#longest.set(what, Math.max(ms, this.#longest.get(what) ?? 0));
  }

  get longest(): ReadonlyMap<string, number> {
    return this.#longest;
  }

  /** A promise that the library has given: it has to settle, as long as its process lives. */
  expect<T>(what: string, promise: Promise<T>, isDead: () => boolean): Promise<T> {
    const pending = { what, isDead };
    this.#pending.add(pending);
    const settled = () => this.#pending.delete(pending);
    promise.then(settled, settled);
    return promise;
  }

  /** The promises of living processes that haven't settled. */
  get unsettled(): string[] {
    return [...this.#pending].filter(({ isDead }) => !isDead()).map(({ what }) => what);
  }
}

import type { Report } from './run.js';

const HOUR_MS = 3_600_000;

/** The results of several runs together. */
export class Tally {
  readonly #beganAt = performance.now();
  /** The processor time that the worlds took, in milliseconds. */
  #cpuMs = 0;
  readonly #counts = new Map<string, number>();
  readonly #longest = new Map<string, number>();
  readonly #violations = new Map<string, number>();
  #worlds = 0;
  #failing = 0;
  #simulatedMs = 0;

  add({
    counts,
    longest,
    violations,
    simulatedMs,
    cpuMs,
  }: Pick<Report, 'counts' | 'longest' | 'violations' | 'simulatedMs' | 'cpuMs'>) {
    this.#worlds++;
    if (violations.length > 0) this.#failing++;
    this.#simulatedMs += simulatedMs;
    this.#cpuMs += cpuMs;
    for (const [what, count] of counts) this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
    for (const [what, ms] of longest) this.#longest.set(what, Math.max(ms, this.#longest.get(what) ?? 0));
    for (const { kind } of violations) this.#violations.set(kind, (this.#violations.get(kind) ?? 0) + 1);
  }

  get hours(): number {
    return this.#simulatedMs / HOUR_MS;
  }

  /** How many times as fast as the clock on the wall. */
  get speed(): number {
    return this.#simulatedMs / (performance.now() - this.#beganAt);
  }

  /** How much is simulated in each second of processor time, which other work on the machine affects less. */
  get speedOfAProcessor(): number {
    return this.#simulatedMs / this.#cpuMs;
  }

  get violations(): number {
    return [...this.#violations.values()].reduce((sum, count) => sum + count, 0);
  }

  count(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  /** One line. */
  summary(): string {
    const violations = [...this.#violations].map(([kind, count]) => `${kind}: ${count}`);
    const found = violations.length === 0 ? '0 violations' : violations.join(', ');
    return (
      `${this.hours.toFixed(1)} hours in ${this.#worlds} worlds at ${Math.round(this.speed)} times real time, ` +
      `${Math.round(this.speedOfAProcessor)} for each processor, ` +
      `${this.count('faults')} faults, ${this.count('terms')} terms; ${found} (${this.#failing} worlds)`
    );
  }

  describe(): string {
    const lines = [...this.#counts].sort().map(([what, count]) => `  ${what}: ${count}`);
    const times = [...this.#longest].map(([what, ms]) => `  longest ${what}: ${Math.round(ms)} ms`);
    return [this.summary(), ...lines, ...times].join('\n');
  }
}

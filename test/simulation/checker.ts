import type { Candidate } from './candidates/candidate.js';
import type { Ledger } from './ledger.js';

/** What is written to with fencing tokens. It refuses a token lower than one it has seen. */
export class FencedResource {
  #highest = 0n;
  readonly #ledger: Ledger;
  readonly #name: string;
  #accepted = 0n;

  constructor(name: string, ledger: Ledger) {
    this.#name = name;
    this.#ledger = ledger;
  }

  write(token: bigint): void {
    if (token < this.#highest) return this.#ledger.count(`${this.#name}: writes refused for their token`);
    this.#highest = token;
    if (token < this.#accepted) this.#ledger.violate('fencing', `${token} was taken after ${this.#accepted}`);
    this.#accepted = token;
    this.#ledger.count(`${this.#name}: writes`);
  }
}

/** Looks at all candidates whenever one of them may have begun to act. */
export class LeadershipChecker {
  readonly #ledger: Ledger;
  readonly #candidates: () => readonly Candidate[];
  readonly #overlaps = new Set<string>();
  #newestToken = 0n;
  #newestTerm = 0;

  constructor(ledger: Ledger, candidates: () => readonly Candidate[]) {
    this.#ledger = ledger;
    this.#candidates = candidates;
  }

  /** No two act at once: to be called when one has begun to, or its lease has got longer. */
  checkActing(): void {
    const acting = this.#candidates().filter((each) => each.isActing);
    if (acting.length < 2) return;
    const names = acting.map((each) => each.leadershipName).join(' and ');
    if (this.#overlaps.has(names)) return;
    this.#overlaps.add(names);
    this.#ledger.violate('two leaders', names);
  }

  elected(token: bigint, term: number): void {
    this.#ledger.count('terms');
    if (token <= this.#newestToken)
      this.#ledger.violate('token', `${token} was given after ${this.#newestToken}`);
    if (term <= this.#newestTerm) this.#ledger.violate('term', `${term} was given after ${this.#newestTerm}`);
    this.#newestToken = token;
    this.#newestTerm = term;
    this.checkActing();
  }
}

import type { Term } from '../../src/election/term.js';
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

/** Looks at all candidates whenever one of them may have begun to act. Each seat of an election is a leadership of its own. */
export class LeadershipChecker {
  readonly #ledger: Ledger;
  readonly #candidates: () => readonly Candidate[];
  readonly #overlaps = new Set<string>();
  /** Of each seat. */
  readonly #newest = new Map<number, Pick<Term, 'token' | 'number'>>();

  constructor(ledger: Ledger, candidates: () => readonly Candidate[]) {
    this.#ledger = ledger;
    this.#candidates = candidates;
  }

  /** No two act at once in the same seat: to be called when one has begun to, or its lease has got longer. */
  checkActing(): void {
    const candidates = this.#candidates();
    if (countActing(candidates) < 2) return;
    const acting = candidates.filter((each) => each.isActing);
    for (const { seat } of acting) {
      const inOne = acting.filter((each) => each.seat === seat);
      if (inOne.length > 1) this.#overlap(inOne.map((each) => each.leadershipName).join(' and '));
    }
  }

  #overlap(names: string): void {
    if (this.#overlaps.has(names)) return;
    this.#overlaps.add(names);
    this.#ledger.violate('two leaders', names);
  }

  elected({ token, number, seat }: Pick<Term, 'token' | 'number' | 'seat'>): void {
    this.#ledger.count(seat === 0 ? 'terms' : 'terms of further seats');
    const newest = this.#newest.get(seat) ?? { token: 0n, number: 0 };
    if (token <= newest.token) this.#ledger.violate('token', `${token} was given after ${newest.token}`);
    if (number <= newest.number) this.#ledger.violate('term', `${number} was given after ${newest.number}`);
    this.#newest.set(seat, { token, number });
    this.checkActing();
  }
}

/** Asked at each heartbeat: so without a list. */
function countActing(candidates: readonly Candidate[]): number {
  let count = 0;
  for (const { isActing } of candidates) if (isActing) count++;
  return count;
}

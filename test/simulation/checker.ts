import type { Term } from '../../src/election/term/term.js';
import type { Candidate } from './candidates/candidate.js';
import type { Ledger } from './ledger.js';

/** A resource that is written to with fencing tokens. It refuses a token lower than one that it has seen. */
export class FencedResource {
  #highest = 0n;
  readonly #ledger: Ledger;
  readonly #name: string;
  #accepted = 0n;

  /** Called when tokens begin again. */
  beginAnew(): void {
    this.#highest = this.#accepted = 0n;
  }

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

/** When the ensemble lost its data last. */
export interface Losses {
  readonly lostAt: number;
  /** Whether some of its data were left. */
  readonly wasRestored: boolean;
}

/** Checks all candidates whenever one of them may have begun to act. */
export class LeadershipChecker {
  readonly #ledger: Ledger;
  readonly #candidates: () => readonly Candidate[];
  #newest: (Pick<Term, 'token' | 'number'> & { readonly life: number }) | undefined;
  readonly #losses: () => Losses;
  readonly #now: () => number;
  readonly #leaseMs: number;

  /** @param leaseMs - the longest time that a lease lasts by the clock on the wall */
  constructor(
    ledger: Ledger,
    candidates: () => readonly Candidate[],
    losses: () => Losses,
    now: () => number,
    leaseMs: number,
  ) {
    this.#ledger = ledger;
    this.#candidates = candidates;
    this.#losses = losses;
    this.#now = now;
    this.#leaseMs = leaseMs;
  }

  /** Checks that no two act at once. Call it when a candidate has begun to act, or its lease has got longer. */
  checkActing(): void {
    const candidates = this.#candidates();
    if (countActing(candidates) < 2) return;
    this.#checkTogether(candidates.filter((each) => each.isActing));
  }

  /**
   * A leader by the data that the ensemble has lost may act beside a leader by the present data: for a lease from the loss. If the
   * ensemble was restored with the former leader's session and node, it may do so for as long as it has these.
   */
  #checkTogether(together: readonly Candidate[]): void {
    const names = together.map((each) => each.leadershipName).join(' and ');
    const { lostAt, wasRestored } = this.#losses();
    const isOfOneLife = new Set(together.map(({ life }) => life)).size < together.length;
    if (isOfOneLife) return this.#ledger.violateOnce('two leaders', names);
    if (this.#now() - lostAt <= this.#leaseMs)
      return this.#ledger.count('leaders: two at once within a lease of a loss of data');
    if (wasRestored) return this.#ledger.count('leaders: two at once after data were restored');
    this.#ledger.violateOnce('two leaders', names);
  }

  /** @param life - the life of the ensemble in which the term was claimed */
  elected({ token, number }: Pick<Term, 'token' | 'number'>, life: number): void {
    this.#ledger.count('terms');
    const newest = this.#newest;
    if (newest?.life === life) this.#checkRise({ token, number }, newest);
    if (life >= (newest?.life ?? 0)) this.#newest = { token, number, life };
    this.checkActing();
  }

  #checkRise(
    { token, number }: Pick<Term, 'token' | 'number'>,
    newest: Pick<Term, 'token' | 'number'>,
  ): void {
    if (token <= newest.token) this.#ledger.violate('token', `${token} was given after ${newest.token}`);
    if (number <= newest.number) this.#ledger.violate('term', `${number} was given after ${newest.number}`);
  }
}

/** Called at each heartbeat, so it makes no list. */
function countActing(candidates: readonly Candidate[]): number {
  let count = 0;
  for (const { isActing } of candidates) if (isActing) count++;
  return count;
}

import { overlapsIn } from '../../../support/history/overlaps.js';
import type { Entry, Journal, Micros } from '../history.js';
import type { RecordVersions } from './record-versions.js';
import type { Check, Violation } from './verdict.js';

/**
 * The time for which a term or a hold was certainly held: from the first to the last question that was answered with yes.
 * It was held all the time in between, since a term doesn't come back.
 */
export interface Hold {
  readonly who: string;
  readonly journal: string;
  readonly token: bigint;
  readonly from: Micros;
  to: Micros;
}

/** If more time than this passes between question and answer, the process stood still in between. Its act then begins unprotected. */
const STOOD_STILL_MICROS = 20_000;

export interface HoldFigures {
  /** In the order in which they began. */
  readonly holds: readonly Hold[];
  readonly checks: number;
  /** How often a process stood still between the question and its act. The fence is made for this. */
  readonly slowChecks: number;
  /** Overlaps of locks, which have no takeover delay: they may overlap when a leading server stands still. */
  readonly overlapsOfLocks: number;
  /** Overlaps with terms that ZooKeeper had committed and taken back: see {@link RecordVersions}. */
  readonly takenBack: readonly string[];
}

/**
 * No election has two leaders at once. An overlap is a moment at which two terms were held for certain. A process that
 * is stopped after the answer that it leads, and acts when it goes on, is no overlap, because only the moment before the
 * question counts. Two leaders at once can't be overlooked for longer than from one question to the next.
 *
 * Overlaps with a term that ZooKeeper took back are counted, and are no violations by Conclave.
 */
export class HoldCheck implements Check<HoldFigures> {
  readonly #kinds: ReadonlyMap<string, Journal['kind']>;
  readonly #versions: RecordVersions;
  readonly #holds = new Map<string, Hold>();
  #checks = 0;
  #slowChecks = 0;

  constructor(journals: readonly Journal[], versions: RecordVersions) {
    this.#versions = versions;
    this.#kinds = new Map(journals.map(({ name, kind }) => [name, kind]));
  }

  see(entry: Entry): void {
    if (entry.kind !== 'held') return;
    this.#checks++;
    if (entry.until - entry.at > STOOD_STILL_MICROS) this.#slowChecks++;
    const { who, journal, token, at } = entry;
    const key = `${journal} ${token} ${who}`;
    const known = this.#holds.get(key);
    if (known === undefined) this.#holds.set(key, { who, journal, token: BigInt(token), from: at, to: at });
    else known.to = Math.max(known.to, at);
  }

  conclude() {
    const holds = [...this.#holds.values()].sort((a, b) => a.from - b.from);
    const violations: Violation[] = [];
    const takenBack: string[] = [];
    let overlapsOfLocks = 0;
    for (const [journal, kind] of this.#kinds) {
      const own = holds.filter((each) => each.journal === journal);
      const overlaps = overlapsIn(own);
      if (kind === 'lock') {
        overlapsOfLocks += overlaps.length;
        continue;
      }
      const wentBack = tokensThatWentBack(own).map((pair) => ({ pair, violation: describeLowerToken(pair) }));
      const all = [...overlaps.map((pair) => ({ pair, violation: describeOverlap(pair) })), ...wentBack];
      for (const { pair, violation } of all)
        if (this.#versions.tookBack(firstOf(pair))) takenBack.push(violation.what);
        else violations.push(violation);
    }
    const figures = { holds, checks: this.#checks, slowChecks: this.#slowChecks, overlapsOfLocks, takenBack };
    return { violations, figures };
  }
}

type Pair = readonly [Hold, Hold];

function describeOverlap([a, b]: Pair): Violation {
  const ms = ((Math.min(a.to, b.to) - b.from) / 1000).toFixed(1);
  const what = `${b.journal}: ${a.who} (${a.token}) and ${b.who} (${b.token}), for ${ms} ms from ${b.from}`;
  return { kind: 'two leaders at once', what };
}

/** Each hold whose token isn't higher than that of one that had begun before. */
function tokensThatWentBack(holds: readonly Hold[]): Pair[] {
  const pairs: Pair[] = [];
  let newest: Hold | undefined;
  for (const hold of holds) {
    if (newest !== undefined && hold.token <= newest.token) pairs.push([newest, hold]);
    else newest = hold;
  }
  return pairs;
}

function describeLowerToken([newest, hold]: Pair): Violation {
  const what = `${hold.journal}: ${hold.who} led with ${hold.token} after ${newest.who} with ${newest.token}`;
  return { kind: 'a token that went back', what };
}

/** By the servers' order: the one that they may have taken back. */
function firstOf([one, other]: Pair): Hold {
  return one.token <= other.token ? one : other;
}

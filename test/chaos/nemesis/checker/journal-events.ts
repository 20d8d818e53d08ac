import type { Entry, Micros } from '../history.js';

/** How many events a message has. */
const MOST_EVENTS = 8;

/** Keeps what happened at each election, lock and shard, for messages: a report of many tests often shows nothing else of a failure. */
export class JournalEvents {
  readonly #events = new Map<string, { readonly at: Micros; readonly what: string }[]>();

  see(entry: Entry): void {
    const what = describe(entry);
    if (what === undefined || !('journal' in entry)) return;
    const events = this.#events.get(entry.journal) ?? [];
    if (events.at(-1)?.what === what) events.pop(); // A holder acts many times a second: the last time is of interest.
    events.push({ at: entry.at, what });
    this.#events.set(entry.journal, events);
  }

  /** The last events before `until`, with their times in milliseconds from `from`. */
  last(journal: string, from: Micros, until: Micros): string {
    const events = (this.#events.get(journal) ?? []).filter(({ at }) => at < until).slice(-MOST_EVENTS);
    return events.map(({ at, what }) => `${Math.round((at - from) / 1000)} ms: ${what}`).join(', ') || 'none';
  }
}

function describe(entry: Entry): string | undefined {
  const { kind } = entry;
  if (kind === 'elected') return `${entry.who} leads term ${entry.term} at version ${entry.version}`;
  if (kind === 'demoted') return `${entry.who} is demoted (${entry.reason})`;
  if (kind === 'cleaned') return `${entry.who} has cleaned up`;
  if (kind === 'held') return `${entry.who} acts`;
  if (kind === 'shown') return `${entry.who} is shown version ${entry.version}`;
  return undefined;
}

import { readFileSync } from 'node:fs';
import { describe, InvalidOptionError } from '../../errors.js';
import { NO_PAST, type Past } from '../../overview/model/overview-model.js';
import type { OverviewChange, OverviewState } from '../../overview/model/views.js';
import { ignore } from '../../platform/async/promises.js';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { appendRows, type HistoryRow, linesOf, replaceRows } from './history-file.js';
import { KeptHistory } from './kept-history.js';

/** The file may grow to this, and to twice what it had after it was written anew. Then it is written anew, with what is kept. */
const MOST_BYTES = 8 * 1024 * 1024;
const AGAIN_AFTER_MS = 10_000;

/** What isn't in the file yet: lines to append, or more than that: then the whole file is to be written anew. */
type Unwritten = string | 'everything';

/**
 * - `idle`: everything was written.
 * - `writing`: until `done` resolves.
 * - `pausing`: a write has failed, and is tried again when the timer runs.
 * - `closed`: final.
 */
type State =
  | { readonly name: 'idle' | 'closed' }
  | { readonly name: 'writing'; readonly done: Promise<void> }
  | { readonly name: 'pausing'; readonly timer: Timer };

/**
 * Keeps the terms, moves and transitions of an overview in a file, as lines of JSON. Only one process may write the file. If a write fails,
 * the history reports that, loses nothing, and tries again 10 s later. The overview goes on.
 */
export class History {
  /** From when on the terms, moves and transitions are known. */
  readonly since: number;
  readonly past: Past;
  readonly #file: string;
  readonly #clock: Clock;
  readonly #onError: (error: unknown) => void;
  readonly #kept: KeptHistory;
  #unwritten: Unwritten = '';
  /** The length of the file, as far as it is known. */
  #bytes: number;
  /** From this length on the file is written anew. */
  #mostBytes = MOST_BYTES;
  #state: State = { name: 'idle' };

  private constructor(file: string, text: string, clock: Clock, onError: (error: unknown) => void) {
    this.#file = file;
    this.#clock = clock;
    this.#onError = onError;
    this.#kept = KeptHistory.of(text);
    this.#bytes = Buffer.byteLength(text);
    this.past = this.#kept.past;
    this.since = this.#kept.since ?? clock.date().getTime();
  }

  /**
   * Reads the file, if there is one. A torn last line is left out.
   * @param onError - gets the error of each write that fails
   * @throws InvalidOptionError if the file exists and can't be read
   */
  static open(file: string, clock: Clock, onError: (error: unknown) => void): History {
    const text = readIfThere(file);
    const history = new History(file, text, clock, onError);
    if (text === '') history.#add([{ kind: 'since', at: history.since }]);
    else if (!text.endsWith('\n')) history.#unwritten = '\n'; // Ends the torn line.
    history.#begin();
    return history;
  }

  /** Takes the state in which the overview begins. */
  begin(state: OverviewState): void {
    this.take({ elections: state.elections });
  }

  take({ elections = [], groups = [], transitions = [] }: OverviewChange): void {
    const rows: HistoryRow[] = [];
    for (const { path, terms } of elections)
      for (const term of terms) rows.push({ kind: 'term', path, term });
    for (const change of groups)
      if ('owned' in change)
        for (const move of change.moves.toReversed()) rows.push({ kind: 'move', path: change.path, move });
    for (const transition of transitions.toReversed()) rows.push({ kind: 'transition', transition });
    this.#add(rows);
    this.#begin();
  }

  /** Tries once more to write what isn't written yet, and resolves when that is done or has failed. Never rejects. */
  async close(): Promise<void> {
    if (this.#state.name === 'pausing') this.#endPause();
    if (this.#state.name === 'writing') await this.#state.done;
    if (this.#state.name === 'pausing') this.#state.timer.clear();
    this.#state = { name: 'closed' };
  }

  #add(rows: readonly HistoryRow[]): void {
    const lines = linesOf(rows.filter((row) => this.#kept.take(row)));
    this.#unwritten = this.#together(this.#unwritten, lines);
  }

  /** Also while writes fail, less is held here than the file may have. */
  #together(former: Unwritten, later: Unwritten): Unwritten {
    if (former === 'everything' || later === 'everything') return 'everything';
    const lines = former + later;
    return lines !== '' && this.#bytes + lines.length > this.#mostBytes ? 'everything' : lines;
  }

  #begin(): void {
    if (this.#state.name === 'idle' && this.#unwritten !== '')
      this.#state = { name: 'writing', done: this.#write() };
  }

  async #write(): Promise<void> {
    while (this.#unwritten !== '') {
      const unwritten = this.#unwritten;
      this.#unwritten = '';
      try {
        await this.#put(unwritten);
      } catch (error) {
        this.#unwritten = this.#together(unwritten, this.#unwritten);
        const timer = this.#clock.after(AGAIN_AFTER_MS, () => this.#endPause(), { background: true });
        this.#state = { name: 'pausing', timer };
        this.#onError(error);
        return;
      }
    }
    this.#state = { name: 'idle' };
  }

  async #put(unwritten: Unwritten): Promise<void> {
    if (unwritten !== 'everything') {
      this.#bytes = await appendRows(this.#file, unwritten);
      return;
    }
    this.#bytes = 0; // Rows that come meanwhile are appended to the new file.
    this.#bytes = await replaceRows(this.#file, this.#kept.rows());
    this.#mostBytes = Math.max(MOST_BYTES, 2 * this.#bytes);
  }

  #endPause(): void {
    if (this.#state.name !== 'pausing') return;
    this.#state.timer.clear();
    this.#state = { name: 'idle' };
    this.#begin();
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw new InvalidOptionError('history', file, `a file that can be read (${describe(error)})`);
  }
}

/** Where no file was given: only what this process has seen is known. */
export function noHistory(now: number): Pick<History, 'past' | 'since' | 'begin' | 'take' | 'close'> {
  return { past: NO_PAST, since: now, begin: ignore, take: ignore, close: () => Promise.resolve() };
}

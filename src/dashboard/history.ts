import { readFileSync } from 'node:fs';
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import { describe, InvalidOptionError } from '../errors.js';
import { NO_PAST, type Past } from '../overview/model/overview-model.js';
import type { OverviewChange, OverviewState } from '../overview/model/views.js';
import { ignore } from '../platform/async/promises.js';
import { type HistoryRow, keyOf, readRows, rowsOf } from './history-rows.js';

/** From this size on the file is written anew, with what is still shown. */
const MOST_BYTES = 8 * 1024 * 1024;
const OWNER_ONLY = 0o600; // It names elections, candidates and members.

/**
 * Keeps the terms, moves and transitions of an overview in a file, as lines of JSON. Only one process may write the file. If a write fails,
 * the history reports that and tries again with the next change. The overview goes on.
 */
export class History {
  /** From when on the terms, moves and transitions are known. */
  readonly since: number;
  readonly past: Past;
  readonly #file: string;
  readonly #onError: (error: unknown) => void;
  /** By path, seat and term, what was written last. */
  readonly #written = new Map<string, string>();
  #waiting: string[] = [];
  #writing: Promise<void> | undefined;
  #bytes: number;

  private constructor(
    file: string,
    read: { readonly past: Past; readonly since: number; readonly bytes: number },
    onError: (error: unknown) => void,
  ) {
    this.#file = file;
    this.since = read.since;
    this.past = read.past;
    this.#bytes = read.bytes;
    this.#onError = onError;
    for (const [path, terms] of this.past.terms)
      for (const term of terms) this.#written.set(`${keyOf(term)} ${path}`, JSON.stringify(term));
  }

  /**
   * Reads the file, if there is one. A torn last line is left out.
   * @param onError - gets the error of each write that fails
   * @throws InvalidOptionError if the file exists and can't be read
   */
  static open(file: string, now: number, onError: (error: unknown) => void): History {
    const text = readIfThere(file);
    const { past, since = now } = readRows(text);
    const history = new History(file, { past, since, bytes: Buffer.byteLength(text) }, onError);
    if (text === '') history.#add([{ kind: 'since', at: since }]);
    else if (!text.endsWith('\n')) history.#waiting.push(''); // Ends the torn line.
    history.#write();
    return history;
  }

  /** What there is when the overview begins. */
  begin(state: OverviewState): void {
    this.take({ elections: state.elections });
  }

  take({ elections = [], groups = [], transitions = [] }: OverviewChange): void {
    const rows: HistoryRow[] = [];
    for (const { path, terms } of elections)
      for (const term of terms) {
        const key = `${keyOf(term)} ${path}`;
        const text = JSON.stringify(term);
        if (this.#written.get(key) === text) continue;
        this.#written.set(key, text);
        rows.push({ kind: 'term', path, term });
      }
    for (const change of groups)
      if ('owned' in change)
        for (const move of change.moves.toReversed()) rows.push({ kind: 'move', path: change.path, move });
    for (const transition of transitions.toReversed()) rows.push({ kind: 'transition', transition });
    this.#add(rows);
    this.#write();
  }

  /** Resolves when all is written that can be. Never rejects. */
  async close(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
  }

  #add(rows: readonly HistoryRow[]): void {
    for (const row of rows) this.#waiting.push(JSON.stringify(row));
  }

  #write(): void {
    if (this.#waiting.length > 0) this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    try {
      const text = `${lines.join('\n')}\n`;
      await appendFile(this.#file, text, { mode: OWNER_ONLY });
      this.#bytes += Buffer.byteLength(text);
      if (this.#bytes > MOST_BYTES) await this.#compact();
    } catch (error) {
      this.#onError(error);
    }
    this.#writing = undefined;
    this.#write();
  }

  /** By another file that takes its place, so that a crash leaves one or the other. */
  async #compact(): Promise<void> {
    const kept = readRows(await readFile(this.#file, 'utf8'));
    const next = `${this.#file}.next`;
    const lines = rowsOf(kept).map((row) => `${JSON.stringify(row)}\n`);
    await writeFile(next, lines.join(''), { mode: OWNER_ONLY });
    await rename(next, this.#file);
    this.#bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
    this.#written.clear();
    for (const [path, terms] of kept.past.terms)
      for (const term of terms) this.#written.set(`${keyOf(term)} ${path}`, JSON.stringify(term));
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

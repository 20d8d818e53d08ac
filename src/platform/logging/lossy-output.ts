import { ignore } from '../async/promises.js';

/** What a {@link LossyOutput} needs of a stream: `process.stdout` and `process.stderr` have it. */
export interface OutputStream {
  readonly writableLength: number;
  write(text: string, written: (error?: Error | null) => void): unknown;
  listenerCount(event: 'error'): number;
  once(event: 'error', listener: () => void): unknown;
}

// Bytes that a slow reader hasn't taken yet. A reader that has stopped must not cost the process its memory.
const MOST_WAITING = 1_048_576;

/**
 * Writes lines to one of the process's streams. Lines that the stream doesn't take are dropped and counted: its device is full, its pipe
 * is closed, its terminal is gone, or its reader is 1 MiB behind. When the stream takes a line again, a note says how many were lost.
 *
 * Guaranteed: it never throws, it never ends the process, and it keeps no more than 1 MiB for the reader. Node's console guarantees
 * less: it handles the first error of a stream, and the second ends the process.
 */
export class LossyOutput {
  readonly #open: () => OutputStream;
  readonly #note: (lost: number) => string;
  #lost = 0;

  /**
   * @param open - returns the stream. Called for each line, because opening a stream takes time, and may fail
   * @param note - the line that says how many lines were lost
   */
  constructor(open: () => OutputStream, note: (lost: number) => string) {
    this.#open = open;
    this.#note = note;
  }

  /** @param line - with the line break at its end */
  write(line: string): void {
    this.#write(line, 1);
  }

  /** @param lines - how many lines are lost if the stream doesn't take this text */
  #write(text: string, lines: number): void {
    try {
      const stream = this.#open();
      if (stream.writableLength > MOST_WAITING) this.#lost += lines;
      else stream.write(text, (error) => this.#onWritten(stream, error ?? undefined, lines));
    } catch {
      this.#lost += lines;
    }
  }

  #onWritten(stream: OutputStream, error: Error | undefined, lines: number): void {
    if (error !== undefined) {
      this.#lost += lines;
      // The stream emits this error next. Without a listener that would end the process.
      if (stream.listenerCount('error') === 0) stream.once('error', ignore);
    } else if (this.#lost > 0) {
      const lost = this.#lost;
      this.#lost = 0;
      this.#write(this.#note(lost), lost);
    }
  }
}

import { describe } from '../../public-class/shown-in-messages.js';
import { ignore } from '../async/promises.js';
import { printable } from '../printable.js';
import { timeOfDay } from '../time/timers.js';
import { codeOf, stackLines } from './logged-error.js';

/** What a {@link LossyOutput} needs of a stream: `process.stdout` and `process.stderr` have it. */
export interface OutputStream {
  readonly writableLength: number;
  write(text: string, written: (error?: Error | null) => void): unknown;
  listeners(event: 'error'): readonly unknown[];
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
      // The stream emits this error next. Without a listener that would end the process. The listener of a pipe into the stream, as of a
      // worker thread's own output, doesn't count: if it is the only one, it emits the error again.
      if (!stream.listeners('error').includes(ignore)) stream.once('error', ignore);
    } else if (this.#lost > 0) {
      const lost = this.#lost;
      this.#lost = 0;
      this.#write(this.#note(lost), lost);
    }
  }
}

// A cause may contain any text of a server or the application.
const MAX_VALUE_CHARACTERS = 500;
// A value of this form needs no quotes to be separated from the next one.
const PLAIN = /^[\w.:/@+-]+$/;

/**
 * A line for people, as `2026-05-04T03:02:01.000Z warn conclave: session suspended cause="the server closed it"`. Below it stand the
 * stacks of `err`, indented, so that no text of theirs is mistaken for a line.
 */
export function formatLine(time: Date, level: string, message: string, details: object): string {
  return `${time.toISOString()} ${level} conclave: ${formatText(message, details)}`;
}

/** The same without time and level, for loggers that write these themselves. */
export function formatText(message: string, details: object): string {
  const parts = Object.entries(details).map(
    ([name, value]) => ` ${name}=${show(name === 'err' ? describe(value) : value)}`,
  );
  const line = printable(`${message}${parts.join('')}`);
  if (!('err' in details)) return line;
  const { code } = codeOf(details.err);
  return `${line}${code === undefined ? '' : ` code=${show(code)}`}${stackLines(details.err)}`;
}

// The same message as that of pino's loggers.
const LINES_LOST = 'lines before this one are lost: they could not be written';

const output = new LossyOutput(
  () => process.stderr,
  (lost) => `${formatLine(timeOfDay(), 'error', LINES_LOST, { lost })}\n`,
);

/** Prints a line for people on standard error. */
export function sayOnStandardError(level: 'warn' | 'error', message: string, details: object): void {
  try {
    output.write(`${formatLine(timeOfDay(), level, message, details)}\n`);
  } catch {
    // The details can't be shown, and a line must not end an election.
  }
}

/** Prints a line on standard error. @param below - lines as {@link stackLines} gives them */
export function printOnStandardError(text: string, below = ''): void {
  output.write(`${printable(text)}${below}\n`);
}

function show(value: unknown): string {
  if (isServer(value)) return show(`${value.host}:${value.port}`);
  if (typeof value === 'string' && PLAIN.test(value)) return shorten(value);
  const text = JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each));
  return shorten(text ?? String(value));
}

function isServer(value: unknown): value is { host: string; port: number } {
  return typeof value === 'object' && value !== null && 'host' in value && 'port' in value;
}

function shorten(text: string): string {
  return text.length <= MAX_VALUE_CHARACTERS ? text : `${text.slice(0, MAX_VALUE_CHARACTERS)}…`;
}

import type { Candidate } from '../../election/candidates/candidate.js';
import { ignore } from '../../platform/async/promises.js';
import { printOnStandardError } from '../../platform/logging/lossy-output.js';
import { printable } from '../../platform/printable.js';
import { EXIT } from './exit-codes.js';

/** A candidate as `--json` prints it. Data that aren't text are in base 64. */
export function candidateJson({ id, node, position, priority, data, prepared }: Candidate): object {
  const place = { id, node, position, priority, ...(prepared !== undefined && { prepared }) };
  if (data === undefined) return place;
  if (typeof data === 'string') return { ...place, data };
  return { ...place, base64: Buffer.from(data).toString('base64') };
}

/** What is shown of a candidate. */
export type ShownCandidate = Pick<Candidate, 'id' | 'priority'> &
  Partial<Pick<Candidate, 'data' | 'prepared'>>;

/** A candidate as a line of text: its id, its priority if it has one, and the data that it advertises. */
export function candidateLine({ id, priority, data }: ShownCandidate): string {
  const words = [printable(id)];
  if (priority > 0) words.push(`priority ${priority}`);
  if (data !== undefined && data.length > 0)
    words.push(typeof data === 'string' ? printable(data) : `(${data.length} bytes)`);
  return words.join('  ');
}

/** Prints lines to standard output. */
export function print(...lines: readonly string[]): void {
  console.log(lines.map(printable).join('\n'));
}

/** Prints a line to standard error: standard output is for the command's own output. Text that standard error doesn't take is lost. */
export function printError(message: string): void {
  printOnStandardError(`conclave: ${message}`);
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** A duration in milliseconds as a text for people, in its two largest units: `3d 4h`, `2m 5s`, `12s`, `820ms`. Rounded down. */
export function durationText(ms: number): string {
  const largest = UNITS.findIndex(([, size]) => ms >= size);
  if (largest < 0) return `${Math.floor(ms)}ms`;
  let rest = ms;
  const words = UNITS.slice(largest, largest + 2).map(([name, size]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return count === 0 ? [] : [`${count}${name}`];
  });
  return words.flat().join(' ');
}

/** The time from `atMs` to `nowMs`, in words. It is never negative, though the servers' clock may be ahead of this machine's. */
export function ageText(atMs: number, nowMs: number): string {
  return durationText(Math.max(0, nowMs - atMs));
}

/** A number of things: `1 candidate`, `2 candidates`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * Keeps this process's standard output and error from ending it, whatever becomes of them: a full device, a closed pipe, a terminal that
 * is gone. A candidate goes on without output: its messages matter least of what it does.
 *
 * If standard output could not be written, a command that would exit with 0 exits with `EXIT.outputLost`. A closed pipe is no such
 * failure: its reader (`conclave --help | head -1`) wants no more.
 */
export function surviveBrokenStreams(): void {
  process.stderr.on('error', ignore); // `printError` and the logger count what is lost.
  process.stdout.on('error', ignore);
  const onLost = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stdout.off('error', onLost);
    printError(`standard output can't be written: ${error.message}`);
    process.on('exit', (code) => {
      if (code === EXIT.ok) process.exitCode = EXIT.outputLost;
    });
  };
  process.stdout.on('error', onLost);
}

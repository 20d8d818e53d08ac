import { timeOfDay } from '../time/timers.js';
import { LossyOutput } from './lossy-output.js';

// A cause may contain any text of a server or the application.
const MAX_VALUE_CHARACTERS = 500;
// A value of this form needs no quotes to be separated from the next one.
const PLAIN = /^[\w.:/@+-]+$/;
// Characters that a terminal may take for commands.
const LEFT_BY_JSON = /[\u007f-\u009f\u2028\u2029]/g;

/** A line for people, as `2026-05-04T03:02:01.000Z warn conclave: session suspended cause="the server closed it"`. */
export function formatLine(time: Date, level: string, message: string, details: object): string {
  const parts = Object.entries(details).map(([name, value]) => ` ${name}=${show(value)}`);
  return `${time.toISOString()} ${level} conclave: ${message}${parts.join('')}`;
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

/** Prints a text on standard error as it is. */
export function printOnStandardError(text: string): void {
  output.write(`${text}\n`);
}

function show(value: unknown): string {
  if (isServer(value)) return show(`${value.host}:${value.port}`);
  if (typeof value === 'string' && PLAIN.test(value)) return shorten(value);
  const text = JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each));
  return shorten((text ?? String(value)).replace(LEFT_BY_JSON, '?'));
}

function isServer(value: unknown): value is { host: string; port: number } {
  return typeof value === 'object' && value !== null && 'host' in value && 'port' in value;
}

function shorten(text: string): string {
  return text.length <= MAX_VALUE_CHARACTERS ? text : `${text.slice(0, MAX_VALUE_CHARACTERS)}…`;
}

import { timeOfDay } from '../time/timers.js';

// A cause may quote whatever a server or the application's own code has said.
const LONGEST_VALUE = 500;
// What needs no quotes to be told from what follows.
const PLAIN = /^[\w.:/@+-]+$/;
// A terminal may take them for commands.
const LEFT_BY_JSON = /[\u007f-\u009f\u2028\u2029]/g;

/** One line for people: `2026-05-04T03:02:01.000Z warn conclave: session suspended cause="the server closed it"`. */
export function formatLine(time: Date, level: string, message: string, details: object): string {
  const parts = Object.entries(details).map(([name, value]) => ` ${name}=${show(value)}`);
  return `${time.toISOString()} ${level} conclave: ${message}${parts.join('')}`;
}

/** Says something on standard error. Node's console takes care that one which is closed ends nobody. */
export function sayOnStandardError(level: 'warn' | 'error', message: string, details: object): void {
  try {
    console[level](formatLine(timeOfDay(), level, message, details));
  } catch {
    // There is nowhere left to report it, and an election must not end over it.
  }
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
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE)}…`;
}

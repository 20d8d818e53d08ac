import { type Command, InvalidArgumentError, Option } from 'commander';
import type { InvalidOptionError } from '../../errors.js';
import { checkPath } from '../../platform/checks.js';
import { durationText } from '../process/output.js';

/** Parses an option's value as a whole number in a range, both ends included. */
export function wholeNumber(first: number, last: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= first && value <= last) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${first} to ${last}.`);
  };
}

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const LONGEST_MS = 2 ** 31 - 1; // The longest time of a timer.
const LEAST_BARE_MS = 100; // We refuse a lower number without a unit: the user more likely means seconds.

/**
 * Parses an option's value as a duration, into milliseconds.
 * @param bounds - both included, in milliseconds
 */
export function duration({ least = 0, longest = LONGEST_MS } = {}): (text: string) => number {
  return (text) => {
    const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text) ?? [];
    const value = Math.round(Number(number) * UNITS_MS[(unit ?? 'ms') as keyof typeof UNITS_MS]);
    if (unit === undefined && value > 0 && value < LEAST_BARE_MS) {
      const otherwise = value < least ? `The minimum is ${least}ms.` : `If not, write ${text}ms.`;
      throw new InvalidArgumentError(`${text} is ${text} ms: did you mean ${text}s? ${otherwise}`);
    }
    if (value >= least && value <= longest) return value;
    const lower = least === 0 ? '' : `, at least ${least} ms`;
    const bound = value > longest ? `, at most ${durationText(longest)}` : lower;
    throw new InvalidArgumentError(`Expected a duration, as 500ms, 30s, 2m or 1h${bound}.`);
  };
}

/**
 * An option whose value is a duration, in milliseconds.
 * @param fallback - the duration if the option isn't given
 * @param bounds - as those of {@link duration}
 */
export function durationOption(
  flags: string,
  description: string,
  fallback?: string,
  bounds?: Parameters<typeof duration>[0],
): Option {
  const parse = duration(bounds);
  const option = new Option(flags, description).argParser(parse);
  return fallback === undefined ? option : option.default(parse(fallback), fallback);
}

/** The option that says on which port a server listens. */
export function portOption(fallback: number): Option {
  return new Option('-p, --port <number>', 'port to listen on; 0 for any free port')
    .default(fallback)
    .argParser(wholeNumber(0, 65_535));
}

/** Adds the argument that names the election. */
export function withElection(command: Command): Command {
  const parse = checked((text) => checkPath('election', text));
  return command.argument('<election>', "the election's path, as /elections/scheduler", parse);
}

/** Collects the values of an option that may be given several times. */
export function collected(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Parses a value by a check that throws an `InvalidOptionError`. */
export function checked(check: (text: string) => unknown): (text: string) => string {
  return (text) => {
    try {
      check(text);
      return text;
    } catch (error) {
      throw new InvalidArgumentError(`Expected ${(error as InvalidOptionError).expected}.`);
    }
  };
}

/** Checks a path below which to look, the root `/` included. @throws InvalidOptionError if it isn't a path */
export function checkRoot(text: string): void {
  if (text !== '/') checkPath('root', text);
}

import { InvalidArgumentError } from 'commander';

/** Reads an option's value as a whole number in a range, both ends included. */
export function wholeNumber(first: number, last: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= first && value <= last) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${first} to ${last}.`);
  };
}

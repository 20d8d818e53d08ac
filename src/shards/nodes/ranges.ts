/** Numbers in a row: the first one and the last one. */
export type NumberRange = readonly [first: number, last: number];

/** The numbers as ranges, in order: thousands of shards take little. */
export function rangesOf(numbers: readonly number[]): NumberRange[] {
  const ranges: [number, number][] = [];
  for (const number of [...numbers].sort((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last === undefined || last[1] < number - 1) ranges.push([number, number]);
    else last[1] = number; // The next one, or the same again.
  }
  return ranges;
}

/**
 * The numbers in ranges that {@link rangesOf} has made, in order.
 * @param count - numbers from there on are left out
 * @returns `undefined` if they are no such ranges: any client may have written them. Ranges that come twice would take any time
 */
export function numbersIn(ranges: unknown, count: number): number[] | undefined {
  if (!Array.isArray(ranges)) return undefined;
  const numbers: number[] = [];
  let next = 0;
  for (const range of ranges as unknown[]) {
    if (!isRange(range) || range[0] < next) return undefined;
    for (let number = range[0]; number <= Math.min(range[1], count - 1); number++) numbers.push(number);
    next = range[1] + 1;
  }
  return numbers;
}

function isRange(value: unknown): value is NumberRange {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [first, last] = value as unknown[];
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(last)) return false;
  return (first as number) >= 0 && (first as number) <= (last as number);
}

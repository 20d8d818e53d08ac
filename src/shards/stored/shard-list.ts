import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../../errors.js';
import { checkUtf8 } from '../../platform/checks.js';
import { parseFormat, parseJsonObject, serializeFormat } from '../../platform/json.js';

/** The name of each version of the format begins with this. */
const FORMATS = 'conclave.shards.';
const FORMAT = `${FORMATS}1`;
/** Of a group. */
export const MOST_SHARDS = 100_000;
const MOST_BYTES = 500_000; // ZooKeeper takes no more than 1 MB for a node.
const MOST_FORMER = 16;
const MARK_DIGITS = 16; // Of a SHA-256: enough to tell the few lists of a group apart.
const LONGEST_ID = 255; // Bytes: of several hundred records in one transaction.

/** Whether the data are a list of shards, also one in the format of a newer release, which {@link ShardList.parse} can't read. */
export function saysThatItIsGroup(data: Buffer): boolean {
  const format = data.length > 0 && parseJsonObject(data)?.format;
  return typeof format === 'string' && format.startsWith(FORMATS);
}

/** Identifies a former list: the number of its shards, or the beginning of the SHA-256 of their names. */
type Mark = number | string;

/** All shards of a group, in their order. Those that are given by number have the ids `'0'`, `'1'` and so on. */
export class ShardList {
  readonly #numbers: ReadonlyMap<string, number>;

  private constructor(
    readonly ids: readonly string[],
    readonly isNumbered: boolean,
    /** The lists that the group had before, the newest last, at most 16. */
    readonly former: readonly Mark[] = [],
  ) {
    this.#numbers = new Map(ids.map((id, number) => [id, number]));
  }

  /** @throws InvalidOptionError for no shards, too many, a name twice, or an empty or too long one */
  static of(shards: unknown): ShardList {
    if (typeof shards === 'number') {
      if (!Number.isSafeInteger(shards) || shards < 1 || shards > MOST_SHARDS)
        throw new InvalidOptionError('shards', shards, `a whole number from 1 to ${MOST_SHARDS}, or names`);
      return new ShardList(
        Array.from({ length: shards }, (_, number) => String(number)),
        true,
      );
    }
    if (!Array.isArray(shards) || shards.length === 0 || shards.length > MOST_SHARDS)
      throw new InvalidOptionError('shards', shards, `1 to ${MOST_SHARDS} names, or their number`);
    const seen = new Set<string>();
    for (const name of shards as unknown[]) {
      if (typeof name !== 'string' || name === '' || Buffer.byteLength(name) > LONGEST_ID)
        throw new InvalidOptionError('shards', name, `names of 1 to ${LONGEST_ID} bytes`);
      checkUtf8('shards', name);
      if (seen.size === seen.add(name).size)
        throw new InvalidOptionError('shards', name, 'names that differ from each other');
    }
    const list = new ShardList([...seen], false);
    if (list.serialize().length > MOST_BYTES)
      throw new InvalidOptionError(
        'shards',
        `${seen.size} names`,
        `names of ${MOST_BYTES} bytes in all, or shorter ones`,
      );
    return list;
  }

  get count(): number {
    return this.ids.length;
  }

  numberOf(id: string): number | undefined {
    return this.#numbers.get(id);
  }

  get #mark(): Mark {
    if (this.isNumbered) return this.count;
    return createHash('sha256').update(JSON.stringify(this.ids)).digest('hex').slice(0, MARK_DIGITS);
  }

  /** Whether the group had these shards before. */
  had(given: ShardList): boolean {
    return this.former.includes(given.#mark);
  }

  /**
   * The list of a group that has this one, and gets those shards.
   * @throws InvalidOptionError if the ones have numbers and the others names
   */
  changedTo(next: ShardList): ShardList {
    if (next.isNumbered !== this.isNumbered) {
      const given = next.isNumbered ? next.count : next.ids;
      const expected = this.isNumbered
        ? 'a number, as the group has numbered shards'
        : 'names, as the shards of the group have names';
      throw new InvalidOptionError('shards', given, expected);
    }
    const former = [...this.former, this.#mark].filter((each) => each !== next.#mark);
    return new ShardList(next.ids, next.isNumbered, former.slice(-MOST_FORMER));
  }

  serialize(): Buffer {
    const { former } = this;
    const shards = this.isNumbered ? { count: this.count } : { names: this.ids };
    return serializeFormat(FORMAT, { ...shards, ...(former.length > 0 && { former }) });
  }

  /** `undefined` if it isn't a list of shards. */
  static parse(data: Buffer): ShardList | undefined {
    const value = parseFormat(data, FORMAT);
    if (value === undefined) return undefined;
    const { former = [] } = value;
    if (!Array.isArray(former)) return undefined;
    try {
      const { ids, isNumbered } = ShardList.of(value.count ?? value.names);
      return new ShardList(ids, isNumbered, former as Mark[]);
    } catch {
      return undefined;
    }
  }

  /** In words, for messages. */
  toString(): string {
    return this.isNumbered ? `${this.count} shards` : `shards with ${this.count} names`;
  }

  /** Whether these are the same shards in the same order, whatever the group had before. */
  equals(other: ShardList): boolean {
    if (this.isNumbered !== other.isNumbered || this.count !== other.count) return false;
    return this.isNumbered || this.ids.every((id, at) => id === other.ids[at]);
  }
}

/** Shards as a node has them: ranges of their numbers, in order. Ids that the list hasn't are left out. */
export function rangesOf(shards: Iterable<string>, list: ShardList): NumberRange[] {
  return rangesOfNumbers([...shards].flatMap((shard) => list.numberOf(shard) ?? []));
}

/** The shards of a group, as its node says at one of its versions. */
export interface GroupShards {
  readonly list: ShardList;
  /** The version of the group's node. Each change of the list raises it. */
  readonly version: number;
}

/**
 * The ids of shards that a node has by ranges of their numbers in the list of a version, in order. Numbers mean the same in every list that
 * was given by number. Numbers that the list hasn't are left out.
 * @param version - as it was read
 * @returns `unknown` if they are of another list of names; `undefined` if these aren't ranges in order: any client may have written them
 */
export function idsOf(
  ranges: unknown,
  version: unknown,
  { list, version: known }: GroupShards,
): string[] | 'unknown' | undefined {
  if (!Number.isSafeInteger(version)) return undefined;
  if (version !== known && !list.isNumbered) return 'unknown';
  return numbersIn(ranges, list.count)?.map((number) => list.ids[number] as string);
}

/** Numbers in a row: the first one and the last one. */
export type NumberRange = readonly [first: number, last: number];

/** The numbers as ranges, in order: thousands of shards take little. */
export function rangesOfNumbers(numbers: readonly number[]): NumberRange[] {
  const ranges: [number, number][] = [];
  for (const number of [...numbers].sort((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last === undefined || last[1] < number - 1) ranges.push([number, number]);
    else last[1] = number; // The next one, or the same again.
  }
  return ranges;
}

/**
 * The numbers in ranges that {@link rangesOfNumbers} has made, in order.
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

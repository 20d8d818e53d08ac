import { InvalidOptionError } from '../../errors.js';
import { parseJsonObject } from '../../platform/json.js';

const FORMAT = 'conclave.shards.1';
const MOST_SHARDS = 100_000;
const MOST_BYTES = 500_000; // ZooKeeper takes no more than 1 MB for a node.
const HALF_CHARACTER = /\p{Surrogate}/u;
const LONGEST_ID = 255; // Bytes: of several hundred records in one transaction.

/** All shards of a group, in their order. Those that are given by number have the ids `'0'`, `'1'` and so on. */
export class ShardList {
  readonly #numbers: ReadonlyMap<string, number>;

  private constructor(
    readonly ids: readonly string[],
    readonly isNumbered: boolean,
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
      if (HALF_CHARACTER.test(name))
        throw new InvalidOptionError('shards', name, 'names that have a UTF-8 form');
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

  serialize(): Buffer {
    return Buffer.from(
      JSON.stringify({ format: FORMAT, ...(this.isNumbered ? { count: this.count } : { names: this.ids }) }),
    );
  }

  /** `undefined` if it isn't a list of shards. */
  static parse(data: Buffer): ShardList | undefined {
    const value = parseJsonObject(data);
    if (value?.format !== FORMAT) return undefined;
    try {
      return ShardList.of(value.count ?? value.names);
    } catch {
      return undefined;
    }
  }

  /** In words, for messages. */
  toString(): string {
    return this.isNumbered ? `${this.count} shards` : `shards with ${this.count} names`;
  }

  equals(other: ShardList): boolean {
    return this.isNumbered === other.isNumbered && this.serialize().equals(other.serialize());
  }
}

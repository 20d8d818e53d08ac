import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../../errors.js';
import { checkUtf8 } from '../../platform/checks.js';
import { parseJsonObject } from '../../platform/json.js';

const FORMAT = 'conclave.shards.1';
/** Of a group. */
export const MOST_SHARDS = 100_000;
const MOST_BYTES = 500_000; // ZooKeeper takes no more than 1 MB for a node.
const MOST_FORMER = 16;
const MARK_DIGITS = 16; // Of a SHA-256: enough to tell the few lists of a group apart.
const LONGEST_ID = 255; // Bytes: of several hundred records in one transaction.

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
    return Buffer.from(JSON.stringify({ format: FORMAT, ...shards, ...(former.length > 0 && { former }) }));
  }

  /** `undefined` if it isn't a list of shards. */
  static parse(data: Buffer): ShardList | undefined {
    const value = parseJsonObject(data);
    if (value?.format !== FORMAT) return undefined;
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

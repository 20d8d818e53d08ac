import type { NameTest } from '../session/protocol/child-names.js';

/**
 * The order of a queue of sequential nodes, as pure functions.
 *
 * The number at the end of a name is the parent's count of children ever created. It is a signed 32-bit counter: after 2147483647
 * comes -2147483648 (kazoo #730, go-zookeeper #65), or 2147483647 again, see {@link isOverflowed}. So numbers are compared with
 * wrap-around, never as strings, and never together with the rest of the name.
 */

/** How a contender wants to hold the lock: `read` is shared with other readers; `lock` and `write` are exclusive. */
export type Purpose = 'lock' | 'write' | 'read';

/** A child of the queue's node that counts as a contender. */
export interface QueueEntry {
  /** The node's name, without its parent's path. */
  readonly node: string;
  /** A uuid that its owner made for this node alone. */
  readonly id: string;
  readonly purpose: Purpose;
  /** Its number, from -2147483648 to 2147483647. */
  readonly sequence: number;
}

/** Parses a child's name. `undefined` if the name isn't a contender's: the queue's node may have other children. */
export type EntryParser = (node: string) => QueueEntry | undefined;

/** The middle of a name, as Curator's InterProcessMutex and InterProcessReadWriteLock write it. */
const MIDDLE = { lock: 'lock-', read: '__READ__', write: '__WRIT__' } as const;
const PURPOSES = new Map(
  Object.entries(MIDDLE).map(([purpose, middle]) => [middle as string, purpose as Purpose]),
);

/** The server writes the number with `%010d`. */
const NUMBER = String.raw`(\d{10}|-\d{9,10})`;

/** `_c_<uuid>-lock-<number>`, as Curator's InterProcessMutex (hyphens in the uuid) and go-zookeeper's Lock (no hyphens) write it. */
const ENTRY = new RegExp(
  `^_c_([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})-(lock-|__READ__|__WRIT__)${NUMBER}$`,
  'i',
);

/** The name of a node to create, without the number that the server appends. */
export function entryPrefix(id: string, purpose: Purpose = 'lock'): string {
  return `_c_${id}-${MIDDLE[purpose]}`;
}

/** Parses the name of a contender in a queue of locks of any kind. */
export function parseLockEntry(node: string): QueueEntry | undefined {
  const match = ENTRY.exec(node);
  const purpose = PURPOSES.get(match?.[2] as string);
  if (match === null || purpose === undefined) return undefined;
  return entry(node, (match[1] as string).toLowerCase(), purpose, match[3] as string);
}

/** Parses the name of a candidate in an election: only the purpose `lock` counts. */
export function parseEntry(node: string): QueueEntry | undefined {
  const parsed = parseLockEntry(node);
  return parsed?.purpose === 'lock' ? parsed : undefined;
}

/** A parser for the names of locks, and for other clients' names of exclusive locks: an id, one of `patterns`, and the number. */
export function lockEntryParser(patterns: readonly string[]): EntryParser {
  if (patterns.length === 0) return parseLockEntry;
  const foreign = new RegExp(`^(.*)(?:${patterns.map(literally).join('|')})${NUMBER}$`, 's');
  return (node) => {
    const match = foreign.exec(node);
    return (
      parseLockEntry(node) ??
      (match === null ? undefined : entry(node, match[1] as string, 'lock', match[2] as string))
    );
  };
}

function entry(node: string, id: string, purpose: Purpose, digits: string): QueueEntry | undefined {
  const sequence = Number(digits);
  // No server writes a number that doesn't fit in 32 bits.
  return sequence === (sequence | 0) ? { node, id, purpose, sequence } : undefined;
}

function literally(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

const LAST_NUMBER = 2 ** 31 - 1;

/**
 * Whether the number may not show the order of creation. When a node has had 2^31 children, the counter of servers since 3.6 stays the
 * same: later children get 2147483647, but some children that are created at the same time get -2147483648 and so on. Two contenders with
 * the same number would both be first. (Older servers count on, and there the order is right.)
 */
export function isOverflowed({ sequence }: QueueEntry): boolean {
  return sequence === LAST_NUMBER || sequence < 0;
}

/** Negative if `a` came before `b`. Right as long as fewer than 2^31 nodes were created between the two. */
export function compareSequences(a: number, b: number): number {
  return (a - b) | 0;
}

/** As {@link compareSequences}. If two numbers are the same, the names decide, in the same way for all clients. */
export function compareEntries(a: QueueEntry, b: QueueEntry): number {
  return compareSequences(a.sequence, b.sequence) || compareNames(a, b);
}

function compareNames(a: QueueEntry, b: QueueEntry): number {
  return a.node < b.node ? -1 : Number(a.node > b.node);
}

const NUMBER_LENGTH = 10;
const BEFORE_NUMBER = Buffer.from(MIDDLE.lock);
const HYPHEN = 0x2d;
const UNDERSCORE = 0x5f;
const LETTER_C = 0x63; // Of `_c_`.
const LETTER_H = 0x68; // Of `_h_`, with which the names of heartbeat nodes begin.
const ZERO = 0x30;

/**
 * Leaves out the names of nodes that were surely created after `entry`. It reads only their last bytes: nearly all of a long
 * queue is mostly behind the contender that lists it, and parsing a thousand names takes longer than listing them. Leaves out
 * heartbeat nodes, too. Names of other kinds stay.
 */
export function withoutLater(entry: QueueEntry): NameTest {
  return (bytes, start, end) => {
    if (isHeartbeatNode(bytes, start)) return false;
    const numberAt = end - NUMBER_LENGTH;
    const number = numberAt < start ? Number.NaN : digits(bytes, numberAt, end);
    if (isOverflowed(entry) || !(number > entry.sequence && number <= LAST_NUMBER)) return true;
    // A hyphen is the minus sign of a longer number, unless it is the end of `lock-`.
    return numberAt > start && bytes[numberAt - 1] === HYPHEN && !endsBefore(bytes, start, numberAt);
  };
}

/**
 * Leaves out `except`, and the names of nodes that were surely created after a name that has already passed. The names that pass
 * contain the earliest of the others, and few more. Leaves out heartbeat nodes, too. Names of other kinds stay. Use it for one listing only.
 */
export function earliestBut(except: QueueEntry): NameTest {
  let earliest = Number.POSITIVE_INFINITY;
  return (bytes, start, end) => {
    if (isHeartbeatNode(bytes, start)) return false;
    const numberAt = end - NUMBER_LENGTH;
    const number = numberAt < start ? Number.NaN : digits(bytes, numberAt, end);
    const isKnown = bytes[start + 1] === LETTER_C && endsBefore(bytes, start, numberAt);
    if (isOverflowed(except) || !(number < LAST_NUMBER) || !isKnown) return true;
    if (number > earliest) return false;
    if (number === except.sequence && bytes.toString('latin1', start, end) === except.node) return false;
    earliest = number;
    return true;
  };
}

function isHeartbeatNode(bytes: Buffer, start: number): boolean {
  return bytes[start + 1] === LETTER_H && bytes[start] === UNDERSCORE && bytes[start + 2] === UNDERSCORE;
}

/** The number that these digits represent; NaN if one of the bytes isn't a digit. */
function digits(bytes: Buffer, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return Number.NaN;
    number = number * 10 + digit;
  }
  return number;
}

/** Whether the bytes from `start` to `end` end with `lock-`. */
function endsBefore(bytes: Buffer, start: number, end: number): boolean {
  const from = end - BEFORE_NUMBER.length;
  for (let at = 0; at < BEFORE_NUMBER.length; at++) if (bytes[from + at] !== BEFORE_NUMBER[at]) return false;
  return from >= start;
}

/**
 * The contenders among `children`, in the order of their numbers.
 *
 * @param own - the contender that asks which nodes are ahead. Each number is then compared with its number only. Numbers that no
 *   server gave may form a cycle if they are compared with each other, and then no sort shows which nodes are ahead
 */
export function queueOf(
  children: readonly string[],
  parse: EntryParser = parseEntry,
  own?: QueueEntry,
): QueueEntry[] {
  const compare =
    own === undefined
      ? compareEntries
      : (a: QueueEntry, b: QueueEntry) =>
          compareSequences(a.sequence, own.sequence) - compareSequences(b.sequence, own.sequence) ||
          compareNames(a, b);
  return children
    .map(parse)
    .filter((each) => each !== undefined)
    .sort(compare);
}

/**
 * The name of a contender's heartbeat node, by the name of its own node. The heartbeat node is an empty ephemeral node
 * beside it. One transaction creates both, and the contender's heartbeats raise its version. Both names contain the
 * contender's uuid, so a record that names one node also names the other.
 */
export function heartbeatNodeOf(node: string): string {
  const id = parseEntry(node)?.id;
  if (id === undefined) throw new TypeError(`${node} is not the node of a candidate`);
  return heartbeatNodeFor(id);
}

/** As {@link heartbeatNodeOf}, by the contender's uuid. */
export function heartbeatNodeFor(uuid: string): string {
  return `_h_${uuid}`;
}

/** As {@link heartbeatNodeOf}, with paths. */
export function heartbeatPathOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return `${path.slice(0, slash)}/${heartbeatNodeOf(path.slice(slash + 1))}`;
}

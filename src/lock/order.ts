/**
 * The order of a queue of sequential nodes, as pure functions.
 *
 * The number at the end of a name is the parent's count of children ever created, a signed 32-bit counter: after
 * 2147483647 comes -2147483648 (kazoo #730, go-zookeeper #65). So numbers are compared with wrap-around, never as
 * strings, and never together with what stands before them.
 */

/** A child of the queue's node that stands in the queue. */
export interface QueueEntry {
  /** The node's name, without its parent's path. */
  readonly node: string;
  /** What its owner made up for it: nobody else's node has it. */
  readonly id: string;
  /** Its number, from -2147483648 to 2147483647. */
  readonly sequence: number;
}

/**
 * `_c_<uuid>-lock-<number>`: the name that Curator's InterProcessMutex and go-zookeeper's Lock give, the one with
 * hyphens in the uuid and the other without. The server writes the number with `%010d`.
 */
const ENTRY = /^_c_([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})-lock-(\d{10}|-\d{9,10})$/i;

/** What the server will put its number behind. */
export function entryPrefix(id: string): string {
  return `_c_${id}-lock-`;
}

/** Reads a child's name; `undefined` if it isn't a contender's: others may keep nodes there too. */
export function parseEntry(node: string): QueueEntry | undefined {
  const match = ENTRY.exec(node);
  if (match === null) return undefined;
  const sequence = Number(match[2]);
  // A number that no server wrote: 32 bits can't hold it.
  if (sequence !== (sequence | 0)) return undefined;
  return { node, id: (match[1] as string).toLowerCase(), sequence };
}

/** Negative if `a` came before `b`: right as long as fewer than 2^31 nodes were created between the two. */
export function compareSequences(a: number, b: number): number {
  return (a - b) | 0;
}

/** The contenders among `children`, first come first. */
export function queueOf(children: readonly string[]): QueueEntry[] {
  return children
    .map(parseEntry)
    .filter((entry) => entry !== undefined)
    .sort((a, b) => compareSequences(a.sequence, b.sequence));
}

/** Those before `own` in the queue, the nearest last. */
export function aheadOf(children: readonly string[], own: QueueEntry): QueueEntry[] {
  return queueOf(children).filter((entry) => compareSequences(entry.sequence, own.sequence) < 0);
}

/** How much an overview reads and shows at most, so that a page costs little even if there are many nodes below its root. */
export const LIMITS = {
  /** Levels below the root. */
  depth: 16,
  /**
   * Children of one node that may be, or lead to, elections, locks or groups. A node with more children belongs to no tree of Conclave, so
   * none of them is read.
   */
  children: 2_000,
  /** Nodes that are read, not counting those inside queues and groups. */
  nodes: 10_000,
  /** Contenders of one queue that are read and shown. */
  queue: 500,
  /** Reads that wait for their answers. */
  reads: 64,
} as const;

const LONGEST_ID = 256;
const LONGEST_DATA = 200;
const REPLACEMENT = '\uFFFD';

/** An id that another client wrote, unchanged, up to 256 characters. */
export function shownId(id: string): string {
  return shortened(id, LONGEST_ID);
}

/** Data as text of at most 200 characters; `undefined` for no data, and for bytes that aren't text. */
export function shownData(data: string | Uint8Array | undefined): string | undefined {
  if (typeof data !== 'string' || data === '' || data.includes(REPLACEMENT)) return undefined;
  return shortened(data, LONGEST_DATA);
}

/** Never cuts a character in two. */
function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const characters = [...text.slice(0, 2 * (most + 1))]; // One more than fit, so that a cut shows.
  return characters.length <= most ? characters.join('') : `${characters.slice(0, most - 1).join('')}…`;
}

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
  const characters = [...text.slice(0, 2 * most)];
  return characters.length <= most ? characters.join('') : `${characters.slice(0, most - 1).join('')}…`;
}

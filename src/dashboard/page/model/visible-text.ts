/**
 * Characters that a reader can't see, or that change how other text looks: control characters, marks and overrides of the
 * writing direction, spaces without width, tags, and halves of surrogate pairs. The joiners U+200C and U+200D aren't among them,
 * because emoji and names in some scripts need them.
 */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression is for control characters.
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\u034f|[\u{e0000}-\u{e0fff}]|\p{Cs}/gu;
const CONTROL_PICTURES = 0x2400;
const DELETE = 0x7f;
const PICTURE_OF_DELETE = '\u2421';

/** Replaces each invisible character by a picture of it or by its number, such as `[U+202E]`. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0) as number;
    if (code < 0x20) return String.fromCodePoint(CONTROL_PICTURES + code);
    if (code === DELETE) return PICTURE_OF_DELETE;
    return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`;
  });
}

/** The text, cut after at most `most` UTF-16 units, but never within a surrogate pair. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(0, most);
  const isHalf = /[\ud800-\udbff]$/.test(cut);
  return `${isHalf ? cut.slice(0, -1) : cut}…`;
}

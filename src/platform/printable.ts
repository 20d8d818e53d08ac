// Control characters, characters that turn the direction of writing, and separators of lines.
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/**
 * Escapes text that any other client may have written. Then it can't begin a new line, or send commands to a terminal. All that Conclave
 * prints passes through here. A line of JSON has the same meaning as before.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    return `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, '0')}`;
  });
}

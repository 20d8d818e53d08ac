/** What a page of Markdown says, without its code. */

/** The sentences of a page: of its paragraphs, list items and table cells. Inline code counts as one word, and a link as its text. */
export function sentencesOf(markdown: string): string[] {
  const text = markdown
    .replaceAll(/^(```+).*?^\1$/gms, '\n')
    .replaceAll(/^ {4}.*$/gm, '\n')
    .replaceAll(/<!--.*?-->/gs, '')
    .replaceAll(/`[^`]+`/g, 'code')
    .replaceAll(/!\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  const blocks = text.split(/\n\s*\n|\n(?=[-*|#] ?)|\|/).map((block) =>
    block
      .replaceAll(/[*#]+|^- /g, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  return blocks
    .flatMap((block) => block.split(/(?<=[.!?])\s+/))
    .filter((sentence) => /[a-z]/i.test(sentence));
}

/** How many words a sentence has; a sign such as a dash or a dot between links is none. */
export function wordsIn(sentence: string): number {
  return sentence.split(/\s+/).filter((word) => /[a-z0-9]/i.test(word)).length;
}

import stringWidth from 'string-width';

const SEGMENTER = new Intl.Segmenter();
const CUT = '…';

/** How many columns of a terminal a text takes: none for combining marks, two for wide characters. */
export function textWidth(text: string): number {
  return stringWidth(text);
}

/** The text if it is no wider than `width` columns. Otherwise its beginning or its end, with an ellipsis. Characters stay whole. */
export function cutToWidth(text: string, width: number, kept: 'beginning' | 'end' = 'beginning'): string {
  if (textWidth(text) <= width) return text;
  if (width < 1) return '';
  const segments = [...SEGMENTER.segment(text)].map(({ segment }) => segment);
  const add = (cut: string, segment: string) => (kept === 'beginning' ? cut + segment : segment + cut);
  let cut = '';
  for (const segment of kept === 'beginning' ? segments : segments.reverse()) {
    const longer = add(cut, segment);
    if (textWidth(longer) + 1 > width) break;
    cut = longer;
  }
  return kept === 'beginning' ? cut + CUT : CUT + cut;
}

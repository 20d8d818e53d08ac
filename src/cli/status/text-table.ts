import stringWidth from 'string-width';

/** A column of a table. */
export interface Column {
  readonly header: string;
  readonly align?: 'left' | 'right';
  /** If the terminal is too narrow, the cells are cut to this width at least. Without it they are never cut. */
  readonly leastWidth?: number;
  /** The part that stays of a cell that is cut. @default 'beginning' */
  readonly kept?: 'beginning' | 'end';
  /** If that isn't enough, the columns with the highest number are left out first. The column with the lowest number stays. */
  readonly leftOutAt: number;
}

const GAP = '  ';

/**
 * Lays a table out, its header first: each line is no wider than `width`, and the cells of a column begin, or end, one below the other.
 * @param rows - printable texts, one for each column
 */
export function textTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const natural = columns.map(({ header }, index) =>
    Math.max(textWidth(header), ...rows.map((cells) => textWidth(cells[index] as string))),
  );
  const shown = shownColumns(columns, natural, width);
  const widths = fitted(columns, natural, shown, width);
  const headers = columns.map(({ header }) => header);
  return [headers, ...rows].map((cells) => {
    const line = shown.map((index) => {
      const { align = 'left', kept } = columns[index] as Column;
      return aligned(
        cutToWidth(cells[index] as string, widths[index] as number, kept),
        widths[index] as number,
        align,
      );
    });
    return line.join(GAP).trimEnd();
  });
}

/** The indices of the columns for which there is room, in their order. */
function shownColumns(columns: readonly Column[], natural: readonly number[], width: number): number[] {
  const least = columns.map(({ leastWidth }, index) => leastOf(leastWidth, natural[index] as number));
  let shown = [...columns.keys()];
  while (shown.length > 1 && totalOf(shown, least) > width) {
    const last = Math.max(...shown.map((index) => (columns[index] as Column).leftOutAt));
    const rest = shown.filter((index) => (columns[index] as Column).leftOutAt !== last);
    shown = rest.length > 0 ? rest : shown.slice(0, 1);
  }
  return shown;
}

/** Makes the widest column that may be cut narrower, again and again, until all have room. */
function fitted(
  columns: readonly Column[],
  natural: readonly number[],
  shown: readonly number[],
  width: number,
): number[] {
  const widths = [...natural];
  const widthOf = (index: number) => widths[index] as number;
  while (totalOf(shown, widths) > width) {
    const spare = shown.filter((index) => {
      const { leastWidth } = columns[index] as Column;
      return widthOf(index) > leastOf(leastWidth, natural[index] as number);
    });
    const widest = spare.reduce(
      (most, index) => (widthOf(index) > widthOf(most) ? index : most),
      spare[0] ?? -1,
    );
    if (widest === -1) {
      // A single column, which is cut like a line.
      widths[shown[0] as number] = Math.max(0, width);
      break;
    }
    widths[widest] = widthOf(widest) - 1;
  }
  return widths;
}

function leastOf(leastWidth: number | undefined, natural: number): number {
  return Math.min(natural, leastWidth ?? natural);
}

function totalOf(shown: readonly number[], widths: readonly number[]): number {
  return shown.reduce((sum, index) => sum + (widths[index] as number), GAP.length * (shown.length - 1));
}

function aligned(text: string, width: number, align: 'left' | 'right'): string {
  const padding = ' '.repeat(Math.max(0, width - textWidth(text)));
  return align === 'left' ? text + padding : padding + text;
}

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

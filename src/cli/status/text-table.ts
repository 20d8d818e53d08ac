import textWidth from 'string-width';

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
  const shown = fitted(
    columns.map((column, index) =>
      laidOut(column, [column.header, ...rows.map((row) => row[index] as string)]),
    ),
    width,
  );
  return [columns, ...rows].map((_, line) => {
    const cells = shown.map(({ cells, width, kept, align }) =>
      aligned(cutToWidth(cells[line] as string, width, kept), width, align),
    );
    return cells.join(GAP).trimEnd();
  });
}

/** A column with its cells, the header first, and how wide it is and has to be. */
interface LaidOutColumn extends Column {
  readonly cells: readonly string[];
  readonly width: number;
  readonly least: number;
}

function laidOut(column: Column, cells: readonly string[]): LaidOutColumn {
  const width = Math.max(...cells.map((cell) => textWidth(cell)));
  return { ...column, cells, width, least: Math.min(width, column.leastWidth ?? width) };
}

/** Leaves out columns for which there is no room, and makes the widest that may be cut narrower until all others have room. */
function fitted(columns: readonly LaidOutColumn[], width: number): readonly LaidOutColumn[] {
  let shown = columns;
  while (shown.length > 1 && totalOf(shown.map(({ least }) => least)) > width) {
    const last = shown.reduce((one, other) => (other.leftOutAt >= one.leftOutAt ? other : one));
    shown = shown.filter((each) => each !== last);
  }
  while (totalOf(shown.map((each) => each.width)) > width) {
    const spare = shown.filter((each) => each.width > each.least);
    // A single column is cut like a line.
    if (spare.length === 0) return shown.map((each) => ({ ...each, width: Math.max(0, width) }));
    const widest = spare.reduce((one, other) => (other.width > one.width ? other : one));
    shown = shown.map((each) => (each === widest ? { ...each, width: each.width - 1 } : each));
  }
  return shown;
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each, GAP.length * (widths.length - 1));
}

function aligned(text: string, width: number, align: Column['align']): string {
  const padding = ' '.repeat(Math.max(0, width - textWidth(text)));
  return align === 'right' ? padding + text : text + padding;
}

const SEGMENTER = new Intl.Segmenter();
const CUT = '…';

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

/** The grid of a group's shards: square cells, row by row. All sizes are in CSS pixels. */
export interface ShardGrid {
  readonly columns: number;
  readonly rows: number;
  /** The distance from one cell to the next. */
  readonly pitch: number;
  /** The side of a cell. The rest of the pitch is the gap between two cells. */
  readonly side: number;
  readonly width: number;
  readonly height: number;
}

const LEAST_PITCH = 3;

/** The grid with the largest cells, up to `mostPitch`, that is no wider than `width` and, if possible, no higher than `height`. */
export function gridOf(count: number, width: number, height: number, mostPitch: number): ShardGrid {
  let pitch = LEAST_PITCH;
  for (let larger = mostPitch; larger > LEAST_PITCH; larger -= 1) {
    if (larger > width || Math.ceil(count / columnsOf(width, larger)) * larger > height) continue;
    pitch = larger;
    break;
  }
  const columns = Math.min(columnsOf(width, pitch), Math.max(1, count));
  const rows = Math.ceil(count / columns);
  const side = pitch - (pitch >= 16 ? 3 : pitch >= 8 ? 2 : 1);
  return { columns, rows, pitch, side, width: columns * pitch, height: rows * pitch };
}

function columnsOf(width: number, pitch: number): number {
  return Math.max(1, Math.floor(width / pitch));
}

/** The shard at a point of the grid; `null` if there is none. */
export function shardAt({ columns, pitch }: ShardGrid, count: number, x: number, y: number): number | null {
  const column = Math.floor(x / pitch);
  if (column < 0 || column >= columns || y < 0) return null;
  const shard = Math.floor(y / pitch) * columns + column;
  return shard < count ? shard : null;
}

/** The shard to which an arrow key, Home or End leads; `null` for another key. */
export function shardAfterKey(
  key: string,
  shard: number,
  count: number,
  { columns }: ShardGrid,
): number | null {
  const to = {
    ArrowLeft: shard - 1,
    ArrowRight: shard + 1,
    ArrowUp: shard - columns,
    ArrowDown: shard + columns,
    Home: 0,
    End: count - 1,
  }[key];
  if (to === undefined) return null;
  return to < 0 || to >= count ? shard : to;
}

/** How many shards each member owns, by the member's index, and how many shards have no owner. */
export function ownedCounts(
  owners: readonly number[],
  members: number,
): { byMember: number[]; unowned: number } {
  const byMember = Array.from({ length: members }, () => 0);
  let unowned = 0;
  for (const owner of owners) {
    if (owner >= 0 && owner < members) byMember[owner] = (byMember[owner] as number) + 1;
    else unowned += 1;
  }
  return { byMember, unowned };
}

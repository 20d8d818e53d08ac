import type { GroupView } from '../../api-types.js';

/** Paul Tol's qualitative palettes `muted` and `light`, which people with any common color blindness can tell apart. */
const ON_LIGHT = [
  '#332288',
  '#88ccee',
  '#44aa99',
  '#ddcc77',
  '#aa4499',
  '#117733',
  '#cc6677',
  '#999933',
  '#882255',
] as const;
const ON_DARK = [
  '#77aadd',
  '#eedd88',
  '#44bb99',
  '#ee8866',
  '#99ddff',
  '#ffaabb',
  '#bbcc33',
  '#aaaa00',
  '#dddddd',
] as const;
/** The side of the mark within a cell, as a fraction of the cell's side. */
const MARKS = [0, 0.6, 0.3] as const;

/** How the shards of one member look. After nine members the colors repeat, with a mark in the middle. */
export interface MemberStyle {
  readonly color: string;
  readonly mark: number;
}

export function memberStyle(slot: number, isDark: boolean): MemberStyle {
  const palette = isDark ? ON_DARK : ON_LIGHT;
  const color = palette[slot % palette.length] as string;
  return { color, mark: MARKS[Math.floor(slot / palette.length) % MARKS.length] ?? 0 };
}

/** The numbers of the members' colors, by the paths of the groups and then by the ids of the members. */
export type ColorSlots = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** @param former - the numbers until now, which the members of these groups keep */
export function colorSlotsOf(
  groups: readonly Pick<GroupView, 'path' | 'members'>[],
  former: ColorSlots = new Map(),
): ColorSlots {
  const slotsOf = ({ path, members }: Pick<GroupView, 'path' | 'members'>) =>
    assignSlots(
      former.get(path) ?? new Map(),
      members.map(({ id }) => id),
    );
  return new Map(groups.map((group) => [group.path, slotsOf(group)]));
}

/**
 * Gives each member a number for its color. A member keeps its number as long as it is in the group, because its index changes
 * whenever another member comes or goes. A new member gets the lowest free number.
 */
export function assignSlots(
  former: ReadonlyMap<string, number>,
  members: readonly string[],
): ReadonlyMap<string, number> {
  const taken = new Set(members.map((member) => former.get(member)));
  let free = 0;
  const lowestFree = () => {
    while (taken.has(free)) free += 1;
    return free++;
  };
  return new Map(members.map((member) => [member, former.get(member) ?? lowestFree()]));
}

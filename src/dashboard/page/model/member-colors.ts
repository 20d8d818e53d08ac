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
const PATTERNS = ['plain', 'inset', 'dot'] as const;

/** How the shards of one member look. After nine members the colors repeat, with a pattern. */
export interface MemberStyle {
  readonly color: string;
  readonly pattern: (typeof PATTERNS)[number];
}

export function memberStyle(slot: number, isDark: boolean): MemberStyle {
  const palette = isDark ? ON_DARK : ON_LIGHT;
  const color = palette[slot % palette.length] as string;
  return { color, pattern: PATTERNS[Math.floor(slot / palette.length) % PATTERNS.length] ?? 'plain' };
}

/** The numbers of the members of all groups, for their colors: those of a group are kept as long as there is that group. */
export class MemberColors {
  readonly #ofGroups = new Map<string, ReadonlyMap<string, number>>();

  /** How many groups have numbers. */
  get size(): number {
    return this.#ofGroups.size;
  }

  /** By the ids of the members. */
  of({ path, members }: Pick<GroupView, 'path' | 'members'>): ReadonlyMap<string, number> {
    const ids = members.map(({ id }) => id);
    const known = this.#ofGroups.get(path);
    if (known?.size === ids.length && ids.every((id) => known.has(id))) return known;
    const assigned = assignSlots(known ?? new Map(), ids);
    this.#ofGroups.set(path, assigned);
    return assigned;
  }

  /** Forgets all other groups. */
  keep(groups: readonly Pick<GroupView, 'path'>[]): void {
    const paths = new Set(groups.map(({ path }) => path));
    for (const path of this.#ofGroups.keys()) if (!paths.has(path)) this.#ofGroups.delete(path);
  }
}

/**
 * Gives each member a number for its color. A member keeps its number as long as it is in the group, because its index changes
 * whenever another member comes or goes. A new member gets the lowest free number.
 */
export function assignSlots(
  former: ReadonlyMap<string, number>,
  members: readonly string[],
): ReadonlyMap<string, number> {
  const slots = new Map<string, number>();
  for (const member of members) {
    const slot = former.get(member);
    if (slot !== undefined) slots.set(member, slot);
  }
  const taken = new Set(slots.values());
  let free = 0;
  for (const member of members) {
    if (slots.has(member)) continue;
    while (taken.has(free)) free += 1;
    slots.set(member, free);
    taken.add(free);
  }
  return slots;
}

import type { OverviewState } from '../../overview/model/views.js';
import { byPath } from '../../platform/zookeeper-paths.js';
import { electionItem } from './election-text.js';
import { groupItem, lockItem } from './lock-and-group-text.js';
import type { ShownItem } from './shown-item.js';
import { type Column, textTable } from './text-table.js';

/** In the order of their paths. */
export function itemsOf({
  elections,
  locks,
  groups,
}: Pick<OverviewState, 'elections' | 'locks' | 'groups'>): ShownItem[] {
  const items = [...elections.map(electionItem), ...locks.map(lockItem), ...groups.map(groupItem)];
  return items.sort(byPath);
}

const COLUMNS: readonly Column[] = [
  { header: 'PATH', leastWidth: 12, kept: 'end', leftOutAt: 0 },
  { header: 'KIND', leftOutAt: 7 },
  { header: 'STATE', leftOutAt: 1 },
  { header: 'LEADER', leastWidth: 8, leftOutAt: 2 },
  { header: 'TERM', align: 'right', leftOutAt: 4 },
  { header: 'SINCE', align: 'right', leftOutAt: 3 },
  { header: 'LEASE', align: 'right', leftOutAt: 6 },
  { header: 'CANDIDATES', align: 'right', leftOutAt: 5 },
];

/** @param width - the terminal's width, in columns */
export function itemTable(items: readonly ShownItem[], nowMs: number, width: number): string[] {
  return textTable(
    COLUMNS,
    items.map((item) => item.row(nowMs)),
    width,
  );
}

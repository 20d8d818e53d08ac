import type { GroupView } from '../../overview/model/views.js';
import { printable } from '../process/output.js';
import type { ShownItem } from './shown-item.js';

/** Its past moves are for the dashboard. */
export function groupItem({ path, moves: _, ...facts }: GroupView): ShownItem {
  const { state, shards, members, owners } = facts;
  const owned = `${owners.filter((owner) => owner >= 0).length} of ${shards.length} shards owned`;
  const count = `${members.length} member${members.length === 1 ? '' : 's'}`;
  return {
    ...{ path, kind: 'group', facts, isServed: state === 'owned' },
    line: [printable(path), state, owned, count].join('  '),
    row: () => [printable(path), 'group', state, '-', '-', '-', '-', String(members.length)],
    details: () => [
      `${state}  ${owned}`,
      ...members.map(({ id, planner }, index) => {
        const own = owners.filter((owner) => owner === index).length;
        return `member ${printable(id)}  owns ${own}${planner ? '  plans' : ''}`;
      }),
    ],
  };
}

import type { GroupView, LockView } from '../../overview/model/views.js';
import { printable } from '../../platform/printable.js';
import { durationText } from '../process/output.js';
import type { ShownItem } from './shown-item.js';

export function lockItem({ path, ...facts }: LockView): ShownItem {
  const { kind, capacity, queue, holding } = facts;
  const state = holding > 0 ? 'held' : 'free';
  const [first] = queue;
  const holders =
    holding === 0 || first === undefined
      ? '-'
      : `${printable(first.id)}${holding > 1 ? ` +${holding - 1}` : ''}`;
  const count = `${queue.length} contender${queue.length === 1 ? '' : 's'}`;
  const since = ({ since: at }: LockView['queue'][number], nowMs: number) =>
    durationText(Math.max(0, nowMs - at));
  return {
    ...{ path, kind: 'lock', facts, isServed: holding > 0 },
    line: [printable(path), state, holders, count].join('  '),
    row: (nowMs) => [
      ...[printable(path), kind, state, holders, '-'],
      ...[holding === 0 || first === undefined ? '-' : since(first, nowMs), '-', String(queue.length)],
    ],
    details: (nowMs) => [
      kind === 'semaphore' ? `${kind}  ${holding} of ${capacity} held` : `${kind}  ${state}`,
      ...queue.map((contender, index) => {
        const words = [index < holding ? 'holds' : 'waits', printable(contender.id)];
        if (contender.shared) words.push('shared');
        return [...words, `joined ${since(contender, nowMs)} ago`].join('  ');
      }),
    ],
  };
}

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

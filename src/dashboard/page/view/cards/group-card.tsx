import type { GroupView } from '../../../api.js';
import { groupTone } from '../../model/alarms.js';
import { countText, numberText } from '../../model/format.js';
import { ownedCounts } from '../../model/shard-grid.js';
import { ShardCanvas } from '../parts/shard-canvas.js';
import type { CardKind } from './card.js';

const HEIGHT = 170;

export const GROUP_CARD: CardKind<GroupView> = { kind: 'group', toneOf: groupTone, markOf, Body };

function Body({ view: group }: { view: GroupView }) {
  const { byMember } = ownedCounts(group.owners, group.members.length);
  const facts = [
    countText(group.shards.length, 'shard'),
    countText(group.members.length, 'member'),
    byMember.length === 0 ? '' : `${rangeText(byMember)} each`,
    group.pins.length === 0 ? '' : countText(group.pins.length, 'pin'),
  ];
  return (
    <>
      <p class="facts">
        {facts.filter(Boolean).map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
      </p>
      <ShardCanvas group={group} height={HEIGHT} mostPitch={22} />
    </>
  );
}

function rangeText(counts: readonly number[]): string {
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return least === most ? numberText(most) : `${numberText(least)} to ${numberText(most)}`;
}

function markOf({ state, owners, members }: GroupView): string {
  switch (state) {
    case 'owned':
      return '';
    case 'incomplete':
      return `${numberText(ownedCounts(owners, members.length).unowned)} without an owner`;
    case 'deserted':
      return '✕ no members';
    case 'unreadable':
      return 'unreadable';
  }
}

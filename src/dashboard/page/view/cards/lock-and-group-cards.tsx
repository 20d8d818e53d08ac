import type { ComponentType } from 'preact';
import { memo } from 'preact/compat';
import type { GroupView, LockView } from '../../../api-types.js';
import { hashOf, type Kind } from '../../model/address-hash.js';
import { ageText, countText, nameOf, numberText } from '../../model/display-text.js';
import { ownedCounts } from '../../model/shard-grid.js';
import { groupTone, lockTone, type Tone } from '../../model/urgency-and-search.js';
import { usePage } from '../page-context.js';
import { ShardCanvas } from '../parts/shard-canvas.js';
import { Ticking } from '../parts/ticking-times.js';
import { Foreign } from '../parts/untrusted-text.js';

/** How a kind of card looks. */
export interface CardKind<View> {
  readonly kind: Kind;
  readonly toneOf: (view: View) => Tone;
  /** A word or two beside the name. */
  readonly markOf: (view: View) => string;
  readonly Body: ComponentType<{ view: View }>;
}

/**
 * A card. The whole card is the link that opens the panel. Hidden cards stay in the document: building them anew would take
 * longer.
 */
function CardFrame<View extends { readonly path: string }>(props: {
  of: CardKind<View>;
  view: View;
  isHidden: boolean;
  isOpen: boolean;
}) {
  const { of, view, isHidden, isOpen } = props;
  const { kind, toneOf, markOf, Body } = of;
  const { root } = usePage();
  const { path } = view;
  return (
    <li class="place" data-open={isOpen} hidden={isHidden}>
      <article class={`card ${kind}`} data-tone={toneOf(view)}>
        <div class="card-head">
          <h3>
            <a href={hashOf({ open: { kind, path }, query: '' })} data-path={path}>
              <Foreign text={nameOf(path, root)} />
            </a>
          </h3>
          <span class="mark note">{markOf(view)}</span>
        </div>
        <Body view={view} />
      </article>
    </li>
  );
}

export const Card = memo(CardFrame) as typeof CardFrame;

export const KIND_TEXT: Readonly<Record<LockView['kind'], string>> = {
  lock: 'lock',
  'read-write': 'read-write lock',
  semaphore: 'semaphore',
};
const MOST_HOLDERS = 2;

export const LOCK_CARD: CardKind<LockView> = {
  kind: 'lock',
  toneOf: lockTone,
  markOf: ({ kind, holding, capacity }) =>
    kind === 'semaphore' ? `${holding} of ${capacity}` : KIND_TEXT[kind],
  Body: LockBody,
};

function LockBody({ view: lock }: { view: LockView }) {
  const holders = lock.queue.slice(0, lock.holding);
  return (
    <>
      {holders.length === 0 && <p class="holder quiet">free</p>}
      {holders.slice(0, MOST_HOLDERS).map((holder) => (
        <p class="holder" key={holder.node}>
          <Foreign text={holder.id || holder.node} />
          <span class="quiet">
            {holder.shared ? 'shared, ' : ''}
            <Ticking text={(now) => ageText(now - holder.since)} />
          </span>
        </p>
      ))}
      <p class="next">
        <span class="quiet">
          {holders.length > MOST_HOLDERS && `and ${holders.length - MOST_HOLDERS} more`}
        </span>
        <span class="waiting quiet">{`${numberText(lock.queue.length - lock.holding)} waiting`}</span>
      </p>
    </>
  );
}

const HEIGHT = 170;

export const GROUP_CARD: CardKind<GroupView> = {
  kind: 'group',
  toneOf: groupTone,
  markOf: markOfGroup,
  Body: GroupBody,
};

function GroupBody({ view: group }: { view: GroupView }) {
  const { byMember } = ownedCounts(group.owners, group.members.length);
  const facts = [
    countText(group.shards.length, 'shard'),
    countText(group.members.length, 'member'),
    byMember.length === 0 ? '' : `${rangeText(byMember)} each`,
    group.pins.length === 0 ? '' : countText(group.pins.length, 'pin'),
  ];
  return (
    <>
      <p class="facts quiet">
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

function markOfGroup({ state, owners, members }: GroupView): string {
  if (state !== 'incomplete') return { owned: '', deserted: '✕ no members', unreadable: 'unreadable' }[state];
  return `${numberText(ownedCounts(owners, members.length).unowned)} without an owner`;
}

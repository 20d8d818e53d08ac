import { useState } from 'preact/hooks';
import type { GroupView } from '../../../api-types.js';
import { countText, numberText, shortened, visibleText } from '../../model/display-text.js';
import { memberStyle } from '../../model/member-colors.js';
import { ownedCounts } from '../../model/shard-grid.js';
import { groupTone } from '../../model/urgency-and-search.js';
import { useChanges, usePage } from '../page-context.js';
import { ShardCanvas } from '../parts/shard-canvas.js';
import { Happening } from '../parts/transition-list.js';
import { Foreign } from '../parts/untrusted-text.js';
import { ActionButton } from './confirm-dialog.js';
import { Panel, Section } from './panel-frame.js';

const STATE_TEXT: Readonly<Record<GroupView['state'], string>> = {
  owned: 'Every shard has an owner.',
  incomplete: 'Not every shard has an owner.',
  deserted: 'It has no members.',
  unreadable: "It can't be read.",
};
const MOST_MOVES = 15;

export function GroupPanel({ group }: { group: GroupView }) {
  const [shard, choose] = useState<number | null>(null);
  const [member, setMember] = useState<string | null>(null);
  const { unowned } = ownedCounts(group.owners, group.members.length);
  const chosen = shard !== null && shard < group.shards.length ? shard : null;
  return (
    <Panel path={group.path} tone={groupTone(group)} kind="Group of shards">
      <p class="state">
        {STATE_TEXT[group.state]}
        {unowned > 0 && (
          <strong class="alarmed">{` ${countText(unowned, 'shard')} without an owner.`}</strong>
        )}
      </p>
      <Section title="Shards" note={numberText(group.shards.length)}>
        <ShardCanvas
          group={group}
          height={440}
          mostPitch={30}
          member={member}
          shard={chosen}
          choose={choose}
        />
        <ShardDetails group={group} shard={chosen} />
      </Section>
      <Section title="Members" note={numberText(group.members.length)}>
        <Members group={group} member={member} setMember={setMember} />
      </Section>
      {group.pins.length > 0 && (
        <Section title="Pins" note={numberText(group.pins.length)}>
          <ul class="pins">
            {group.pins.map((pin) => (
              <li key={pin.shard}>
                <Foreign text={pin.shard} /> <span class="quiet">to</span> <Foreign text={pin.member} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {group.moves.length > 0 && (
        <Section title="Moves">
          <ol class="transitions">
            {group.moves.slice(0, MOST_MOVES).map(({ at, shard: id, from, to }) => (
              <Happening key={`${at} ${id} ${to}`} at={at}>
                <Foreign class="who" text={id} /> <Owner id={from} /> {'→ '}
                <Owner id={to} />
              </Happening>
            ))}
          </ol>
        </Section>
      )}
    </Panel>
  );
}

/** The legend of the grid. While a member is chosen, the shards of the other members are pale. */
function Members(props: {
  group: GroupView;
  member: string | null;
  setMember: (member: string | null) => void;
}) {
  const { group, member, setMember } = props;
  const { store, scheme } = usePage();
  useChanges(scheme.changes);
  const slots = store.slotsOf(group.path);
  const { byMember } = ownedCounts(group.owners, group.members.length);
  return (
    <ul class="members">
      {group.members.map(({ id, node, weight, planner, data }, index) => (
        <li key={node}>
          <button
            type="button"
            aria-pressed={member === id}
            onClick={() => setMember(member === id ? null : id)}
          >
            <Swatch {...memberStyle(slots.get(id) ?? 0, scheme.isDark)} />
            <Foreign class="member-id" text={id} />
            {weight !== 1 && <span class="badge note">{`weight ${weight}`}</span>}
            {planner && <span class="badge note">planner</span>}
            <span class="count quiet">{numberText(byMember[index] ?? 0)}</span>
          </button>
          {data !== undefined && data !== '' && <Foreign class="data note" text={data} />}
        </li>
      ))}
    </ul>
  );
}

function Swatch({ color, mark }: ReturnType<typeof memberStyle>) {
  const start = (1 - mark) / 2;
  return (
    <svg class="swatch" viewBox="0 0 1 1" aria-hidden="true">
      <rect width="1" height="1" fill={color} />
      <rect class="inner" x={start} y={start} width={mark} height={mark} />
    </svg>
  );
}

function Owner({ id }: { id: string | null }) {
  return id === null ? 'no owner' : <Foreign text={id} />;
}

/** The chosen shard: its owner, and the actions on it. */
function ShardDetails({ group, shard }: { group: GroupView; shard: number | null }) {
  const { ask } = usePage();
  const [chosen, choose] = useState('');
  const name = shard === null ? null : (group.shards[shard] ?? null);
  const [first] = group.members;
  const member = group.members.some(({ id }) => id === chosen) ? chosen : (first?.id ?? '');
  if (name === null)
    return (
      <p class="shard-details quiet">Click a shard, or choose one with the arrow keys, to see its owner.</p>
    );
  const owner = group.members[group.owners[shard as number] ?? -1];
  const pin = group.pins.find((each) => each.shard === name);
  const { path } = group;
  return (
    <div class="shard-details">
      <p aria-live="polite">
        shard{' '}
        <strong>
          <Foreign text={name} />
        </strong>
        {': '}
        {owner === undefined ? <span class="alarmed">no owner</span> : <Foreign text={owner.id} />}
        {pin !== undefined && (
          <span class="quiet">
            {', pinned to '}
            <Foreign text={pin.member} />
          </span>
        )}
      </p>
      {ask !== null && (
        <p class="actions">
          <label>
            <span>To </span>
            <select value={member} onChange={(event) => choose(event.currentTarget.value)}>
              {group.members.map(({ id, node }) => (
                <option key={node} value={id}>
                  {shortened(visibleText(id), 60)}
                </option>
              ))}
            </select>
          </label>
          <ActionButton action={{ kind: 'move', path, shard: name, member }} />
          <ActionButton action={{ kind: 'pin', path, shard: name, member }} />
          {pin && <ActionButton action={{ kind: 'unpin', path, shard: name, member: pin.member }} />}
        </p>
      )}
    </div>
  );
}

import { useEffect, useState } from 'preact/hooks';
import type { GroupView } from '../../../api-types.js';
import { countText, numberText, shortened, timeText, visibleText } from '../../model/display-text.js';
import { memberStyle } from '../../model/member-colors.js';
import { ownedCounts } from '../../model/shard-grid.js';
import { groupTone } from '../../model/urgency-and-search.js';
import { useIsDark, usePage } from '../page-context.js';
import { ShardCanvas } from '../parts/shard-canvas.js';
import { Foreign } from '../parts/untrusted-text.js';
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
          <Moves moves={group.moves.slice(0, MOST_MOVES)} />
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
  const { slotsOf } = usePage();
  const isDark = useIsDark();
  const slots = slotsOf(group);
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
            <Swatch {...memberStyle(slots.get(id) ?? 0, isDark)} />
            <span class="member-id">
              <Foreign text={id} />
            </span>
            {weight !== 1 && <span class="badge">{`weight ${weight}`}</span>}
            {planner && <span class="badge">planner</span>}
            <span class="count">{numberText(byMember[index] ?? 0)}</span>
          </button>
          {data !== undefined && data !== '' && (
            <span class="data">
              <Foreign text={data} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function Swatch({ color, pattern }: ReturnType<typeof memberStyle>) {
  const inner = { plain: 0, inset: 9.6, dot: 4.8 }[pattern];
  return (
    <svg class="swatch" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" fill={color} />
      {inner > 0 && <rect class="inner" x={8 - inner / 2} y={8 - inner / 2} width={inner} height={inner} />}
    </svg>
  );
}

function Moves({ moves }: { moves: GroupView['moves'] }) {
  const { store } = usePage();
  const now = store.now();
  return (
    <ol class="transitions">
      {moves.map(({ at, shard, from, to }) => (
        <li key={`${at} ${shard} ${to}`}>
          <time>{timeText(at, now)}</time>
          <span class="what">
            <strong>
              <Foreign text={shard} />
            </strong>{' '}
            {from === null ? 'no owner' : <Foreign text={from} />} {'→ '}
            {to === null ? 'no owner' : <Foreign text={to} />}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The chosen shard: its owner, and the actions on it. */
export function ShardDetails({ group, shard }: { group: GroupView; shard: number | null }) {
  const { ask } = usePage();
  const [member, setMember] = useState('');
  const name = shard === null ? null : (group.shards[shard] ?? null);
  const first = group.members[0]?.id ?? '';
  useEffect(
    () => setMember((former) => (group.members.some(({ id }) => id === former) ? former : first)),
    [group.members, first],
  );
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
            <select value={member} onChange={(event) => setMember(event.currentTarget.value)}>
              {group.members.map(({ id, node }) => (
                <option key={node} value={id}>
                  {shortened(visibleText(id), 60)}
                </option>
              ))}
            </select>
          </label>
          <button type="button" onClick={() => ask({ kind: 'move', path, shard: name, member })}>
            Move…
          </button>
          <button type="button" onClick={() => ask({ kind: 'pin', path, shard: name, member })}>
            Pin…
          </button>
          {pin !== undefined && (
            <button
              type="button"
              onClick={() => ask({ kind: 'unpin', path, shard: name, member: pin.member })}
            >
              Unpin…
            </button>
          )}
        </p>
      )}
    </div>
  );
}

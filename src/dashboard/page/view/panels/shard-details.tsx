import { useEffect, useState } from 'preact/hooks';
import type { GroupView } from '../../../api.js';
import { shortened, visibleText } from '../../model/visible-text.js';
import { usePage } from '../page-context.js';
import { Foreign } from '../parts/foreign.js';

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

import { hasUtf8 } from '../../platform/checks.js';
import { parseJsonObject } from '../../platform/json.js';
import { type GroupShards, idsOf } from './group-shards.js';
import { rangesOf } from './shard-ranges.js';

/** What a member leaves behind that may come back: where its shards belong. */
export interface Home {
  /** The id that it comes back with. */
  readonly id: string;
  /** The uuid of the member that has left: whichever others have that id aren't that one. */
  readonly member: string;
  readonly weight: number;
  /** How long its shards are to wait for it, in milliseconds; 0: others get them meanwhile. */
  readonly graceMs: number;
  /** What it owned before it began to leave. */
  readonly shards: readonly string[];
}

const FORMAT = 'conclave.home.1';

export function serializeHome(home: Home, { list, version }: GroupShards): Buffer {
  const { id, member, weight, graceMs, shards } = home;
  return Buffer.from(
    JSON.stringify({
      ...{ format: FORMAT, id, member, weight, graceMs },
      ...{ list: version, shards: rangesOf(shards, list) },
    }),
  );
}

/** `undefined` if it isn't a home: any client may have written it. One with numbers of another list of names has no shards. */
export function parseHome(data: Buffer, known: GroupShards): Home | undefined {
  const value = parseJsonObject(data);
  if (value?.format !== FORMAT) return undefined;
  const { id, member, weight, graceMs } = value;
  if (typeof id !== 'string' || !hasUtf8(id) || typeof member !== 'string') return undefined;
  if (!isNumber(weight) || weight === 0 || !isNumber(graceMs)) return undefined;
  const shards = idsOf(value.shards, value.list, known);
  return shards && { id, member, weight, graceMs, shards: shards === 'unknown' ? [] : shards };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

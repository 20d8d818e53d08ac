import { parseJsonObject } from '../../platform/json.js';
import { type GroupShards, idsOf } from './group-shards.js';
import { rangesOf } from './shard-ranges.js';

/** A member's plan. */
export interface PlanData {
  /** The version of the group's node that it is for; `undefined` where nothing was written yet, which is for any. */
  readonly version: number | undefined;
  /** The ids of the shards that the member is to own, in order; `unknown`: it is for another list of names. */
  readonly shards: readonly string[] | 'unknown';
}

const FORMAT = 'conclave.plan.1';

/** The shards that a member is to own. */
export function serializePlan(shards: Iterable<string>, { list, version }: GroupShards): Buffer {
  return Buffer.from(JSON.stringify({ format: FORMAT, list: version, shards: rangesOf(shards, list) }));
}

/** `undefined` if it isn't a plan: then the member keeps what it has. */
export function parsePlan(data: Buffer, known: GroupShards): PlanData | undefined {
  if (data.length === 0) return { version: undefined, shards: [] };
  const value = parseJsonObject(data);
  if (value?.format !== FORMAT) return undefined;
  const shards = idsOf(value.shards, value.list, known);
  return shards && { version: value.list as number, shards };
}

import { parseJsonObject } from '../../platform/json.js';

const FORMAT = 'conclave.plan.1';

/** The numbers of the shards that a member is to own, in order, as ranges: thousands of them take little. */
export function serializePlan(shards: readonly number[]): Buffer {
  const ranges: [number, number][] = [];
  for (const shard of [...shards].sort((one, other) => one - other)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === shard - 1) last[1] = shard;
    else ranges.push([shard, shard]);
  }
  return Buffer.from(JSON.stringify({ format: FORMAT, shards: ranges }));
}

/**
 * The numbers, in order. Nothing where nothing was written yet.
 * @param count - how many shards there are: others are left out
 * @returns `undefined` if it isn't a plan: then the member keeps what it has
 */
export function parsePlan(data: Buffer, count: number): number[] | undefined {
  if (data.length === 0) return [];
  const value = parseJsonObject(data);
  if (value?.format !== FORMAT || !Array.isArray(value.shards)) return undefined;
  const planned: number[] = [];
  for (const range of value.shards as unknown[]) {
    if (!isRange(range)) return undefined;
    for (let shard = range[0]; shard <= Math.min(range[1], count - 1); shard++) planned.push(shard);
  }
  return planned;
}

function isRange(value: unknown): value is [number, number] {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [first, last] = value as unknown[];
  return Number.isSafeInteger(first) && Number.isSafeInteger(last) && (first as number) >= 0;
}

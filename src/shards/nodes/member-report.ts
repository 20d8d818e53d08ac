import { parseJsonObject } from '../../platform/json.js';
import { type GroupShards, idsOf } from './group-shards.js';
import { rangesOf } from './shard-ranges.js';

/** What a member says to the planner. */
export interface MemberReport {
  /** It is to own nothing: the planner gives all its shards to others. */
  readonly draining: boolean;
  /** The ids of shards that it is not to own for now, say because its work for them fails. */
  readonly refused: readonly string[];
  /** The ids of shards that it has prepared for, of those that are planned for it and that others own yet. */
  readonly ready: readonly string[];
}

/** What a member says that has no report. */
export const NO_REPORT: MemberReport = { draining: false, refused: [], ready: [] };

const FORMAT = 'conclave.report.1';

export function serializeReport(
  { draining, refused, ready }: MemberReport,
  { list, version }: GroupShards,
): Buffer {
  return Buffer.from(
    JSON.stringify({
      ...{ format: FORMAT, list: version },
      ...(draining && { draining }),
      ...{ refused: rangesOf(refused, list), ready: rangesOf(ready, list) },
    }),
  );
}

/**
 * `undefined` if it isn't a report: any client may have written it. Such a member counts as one that has none. Of another list of names it
 * isn't known which shards it means, until the member has written it anew.
 */
export function parseReport(data: Buffer, known: GroupShards): MemberReport | undefined {
  const value = parseJsonObject(data);
  if (value?.format !== FORMAT) return undefined;
  const [refused, ready] = [value.refused, value.ready].map((each) => idsOf(each, value.list, known));
  if (refused === undefined || ready === undefined) return undefined;
  const idsIn = (shards: string[] | 'unknown') => (shards === 'unknown' ? [] : shards);
  return { draining: value.draining === true, refused: idsIn(refused), ready: idsIn(ready) };
}

import { InvalidOptionError } from '../../errors.js';
import { hasUtf8 } from '../../platform/checks.js';
import { parseFormat, serializeFormat } from '../../platform/json.js';
import { type GroupShards, idsOf, MOST_SHARDS, numbersIn, rangesOf, rangesOfNumbers } from './shard-list.js';

/** The names of the formats, each at the beginning of the data. */
const [PLAN, OWNED, MEMBER] = ['conclave.plan.1', 'conclave.owned.1', 'conclave.member.1'];
const [REPORT, HOME, PINS] = ['conclave.report.1', 'conclave.home.1', 'conclave.pins.1'];

/** A member's plan. */
export interface PlanData {
  /** The version of the group's node that it is for; `undefined` where nothing was written yet, which is for any. */
  readonly version: number | undefined;
  /** The ids of the shards that the member is to own, in order; `unknown`: it is for another list of names. */
  readonly shards: readonly string[] | 'unknown';
}

/** The shards that a member is to own. */
export function serializePlan(shards: Iterable<string>, { list, version }: GroupShards): Buffer {
  return serializeFormat(PLAN, { list: version, shards: rangesOf(shards, list) });
}

/** `undefined` if it isn't a plan: then the member keeps what it has. */
export function parsePlan(data: Buffer, known: GroupShards): PlanData | undefined {
  if (data.length === 0) return { version: undefined, shards: [] };
  const value = parseFormat(data, PLAN);
  if (value === undefined) return undefined;
  const shards = idsOf(value.shards, value.list, known);
  return shards && { version: value.list as number, shards };
}

/** What a member publishes: the numbers of the shards whose records name it. */
export function serializeOwned(shards: readonly number[]): Buffer {
  return serializeFormat(OWNED, { shards: rangesOfNumbers(shards) });
}

/**
 * The numbers, in order, whatever the number of shards: an observer may read the list of them later. `undefined` if it is no publication.
 */
export function parseOwned(data: Buffer): number[] | undefined {
  return numbersIn(parseFormat(data, OWNED)?.shards, MOST_SHARDS);
}

/** What a member says of itself, on its node. */
export interface MemberData {
  /** Its name, which it keeps when it comes again. */
  readonly id: string;
  /** Its part of the shards, in proportion to the other members' weights. */
  readonly weight: number;
  /** Anything, for those that look up who owns a shard: its address, say. */
  readonly data?: string;
  /** It prepares for a shard before it owns it: the owner keeps the shard until then. */
  readonly prepares?: true | undefined;
}

export function serializeMember({ id, weight, data, prepares }: MemberData): Buffer {
  return serializeFormat(MEMBER, { id, weight, data, prepares });
}

/** `undefined` if it isn't a member's: any client may have written it. Such a node gets no shards. */
export function parseMember(bytes: Buffer): MemberData | undefined {
  const value = parseFormat(bytes, MEMBER);
  if (value === undefined) return undefined;
  const { id, weight, data, prepares } = value;
  if (typeof id !== 'string' || !Number.isFinite(weight) || !((weight as number) > 0)) return undefined;
  return {
    ...{ id, weight: weight as number },
    ...(typeof data === 'string' && { data }),
    ...(prepares === true && { prepares }),
  };
}

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

export function serializeReport(
  { draining, refused, ready }: MemberReport,
  { list, version }: GroupShards,
): Buffer {
  return serializeFormat(REPORT, {
    list: version,
    ...(draining && { draining }),
    ...{ refused: rangesOf(refused, list), ready: rangesOf(ready, list) },
  });
}

/**
 * `undefined` if it isn't a report: any client may have written it. Such a member counts as one that has none. Of another list of names it
 * isn't known which shards it means, until the member has written it anew.
 */
export function parseReport(data: Buffer, known: GroupShards): MemberReport | undefined {
  const value = parseFormat(data, REPORT);
  if (value === undefined) return undefined;
  const [refused, ready] = [value.refused, value.ready].map((each) => idsOf(each, value.list, known));
  if (refused === undefined || ready === undefined) return undefined;
  const idsIn = (shards: string[] | 'unknown') => (shards === 'unknown' ? [] : shards);
  return { draining: value.draining === true, refused: idsIn(refused), ready: idsIn(ready) };
}

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

export function serializeHome(home: Home, { list, version }: GroupShards): Buffer {
  return serializeFormat(HOME, { ...home, list: version, shards: rangesOf(home.shards, list) });
}

/** `undefined` if it isn't a home: any client may have written it. One with numbers of another list of names has no shards. */
export function parseHome(data: Buffer, known: GroupShards): Home | undefined {
  const value = parseFormat(data, HOME);
  if (value === undefined) return undefined;
  const { id, member, weight, graceMs } = value;
  if (typeof id !== 'string' || !hasUtf8(id) || typeof member !== 'string') return undefined;
  if (!isNumber(weight) || weight === 0 || !isNumber(graceMs)) return undefined;
  const shards = idsOf(value.shards, value.list, known);
  return shards && { id, member, weight, graceMs, shards: shards === 'unknown' ? [] : shards };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

/** By shard, the id of the member that is to own it, whatever the others have. */
export type Pins = ReadonlyMap<string, string>;

const MOST_BYTES = 500_000; // ZooKeeper takes no more than 1 MB for a node.

/** @throws InvalidOptionError if they take more than 500 kB */
export function serializePins(pins: Pins): Buffer {
  const data = serializeFormat(PINS, { pins: Object.fromEntries(pins) });
  if (data.length > MOST_BYTES)
    throw new InvalidOptionError('pins', `${pins.size} pins`, `pins of ${MOST_BYTES} bytes in all`);
  return data;
}

/** No pins where nothing was written yet. `undefined` if these aren't pins: any client may have written them. */
export function parsePins(data: Buffer): Map<string, string> | undefined {
  if (data.length === 0) return new Map();
  const pins = parseFormat(data, PINS)?.pins;
  if (typeof pins !== 'object' || pins === null) return undefined;
  const entries = Object.entries(pins);
  return entries.every(([, member]) => typeof member === 'string') ? new Map(entries) : undefined;
}

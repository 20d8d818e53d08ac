import { parseJsonObject } from '../../platform/json.js';

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

const FORMAT = 'conclave.member.1';

export function serializeMember({ id, weight, data, prepares }: MemberData): Buffer {
  return Buffer.from(JSON.stringify({ format: FORMAT, id, weight, data, prepares }));
}

/** `undefined` if it isn't a member's: any client may have written it. Such a node gets no shards. */
export function parseMember(bytes: Buffer): MemberData | undefined {
  const value = parseJsonObject(bytes);
  if (value?.format !== FORMAT) return undefined;
  const { id, weight, data, prepares } = value;
  if (typeof id !== 'string' || !Number.isFinite(weight) || !((weight as number) > 0)) return undefined;
  return {
    ...{ id, weight: weight as number },
    ...(typeof data === 'string' && { data }),
    ...(prepares === true && { prepares }),
  };
}

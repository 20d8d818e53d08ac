import { InvalidOptionError } from '../../errors.js';
import { parseJsonObject } from '../../platform/json.js';

/** By shard, the id of the member that is to own it, whatever the others have. */
export type Pins = ReadonlyMap<string, string>;

const FORMAT = 'conclave.pins.1';
const MOST_BYTES = 500_000; // ZooKeeper takes no more than 1 MB for a node.

/** @throws InvalidOptionError if they take more than 500 kB */
export function serializePins(pins: Pins): Buffer {
  const data = Buffer.from(JSON.stringify({ format: FORMAT, pins: Object.fromEntries(pins) }));
  if (data.length > MOST_BYTES)
    throw new InvalidOptionError('pins', `${pins.size} pins`, `pins of ${MOST_BYTES} bytes in all`);
  return data;
}

/** No pins where nothing was written yet. `undefined` if these aren't pins: any client may have written them. */
export function parsePins(data: Buffer): Map<string, string> | undefined {
  if (data.length === 0) return new Map();
  const value = parseJsonObject(data);
  if (value?.format !== FORMAT || typeof value.pins !== 'object' || value.pins === null) return undefined;
  const pins = Object.entries(value.pins);
  return pins.every(([, member]) => typeof member === 'string') ? new Map(pins) : undefined;
}

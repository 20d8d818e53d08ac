import type { QueueEntry } from '../../queue/names-and-order.js';
import type { NameTest } from '../../session/protocol/child-names.js';
import { isLease, LONGEST_LEASE_MS } from '../record/election-record.js';

/**
 * The uuid of a candidate. It has version 8, which RFC 9562 leaves to its users, and carries the facts that a leader needs about the
 * candidate. So one request, a listing of the queue, shows which candidate may lead next, and with which lease.
 *
 * xxxxxxxx-xxxx-8Fpp-Vxxx-LLLLxxxxxxxx
 *
 * `F` is the format. `pp` is the priority, `LLLL` the lease. `V` has the variant's two bits. 94 bits come from `random`.
 * @param random - a uuid of version 4
 * @param leaseMs - how long the candidate's lease lasts at most. The lease that is read from the uuid is as long, or longer by 0.1 % and
 *   1 ms at most
 */
export function candidateUuid(random: string, priority: number, leaseMs: number): string {
  const [first, second, , fourth = '', fifth = ''] = random.split('-');
  const variant = (VARIANT | (Number.parseInt(fourth[0] ?? '0', 16) & 0b11)).toString(16);
  return [
    first,
    second,
    `8${FORMAT}${priority.toString(16).padStart(2, '0')}`,
    `${variant}${fourth.slice(1)}`,
    `${leaseBits(leaseMs).toString(16).padStart(4, '0')}${fifth.slice(4)}`,
  ].join('-');
}

const FORMAT = '1';
const VARIANT = 0b1000; // Of RFC 9562, in the highest of four bits.

const GROUPS =
  /^[0-9a-f]{8}-[0-9a-f]{4}-8([0-9a-f])([0-9a-f]{2})-[89ab][0-9a-f]{3}-([0-9a-f]{4})[0-9a-f]{8}$/;

/**
 * How long the lease of a candidate lasts at most, in milliseconds, by its name. `undefined` for other clients: their uuids have other
 * versions or no hyphens.
 */
export function leaseOf({ id }: QueueEntry): number | undefined {
  const [, format, , lease = ''] = GROUPS.exec(id) ?? [];
  return format === FORMAT ? leaseOfBits(Number.parseInt(lease, 16)) : undefined;
}

/** The priority of a candidate, by its name; 0 for another client. */
export function priorityOf({ id }: QueueEntry): number {
  return Number.parseInt(GROUPS.exec(id)?.[2] ?? '0', 16);
}

// After `_c_` and two groups of a uuid that is written with hyphens.
const VERSION_AT = 17;
const PRIORITY_AT = 19;
const PREFIX_AT = 1;
const C = 0x63; // Heartbeat nodes have the same uuids, after `_h_`.
const ZERO = 0x30;
const EIGHT = 0x38;

/** Whether a candidate may have a priority. It reads four characters of the name, because parsing a thousand names takes long. */
export const mayHavePriority: NameTest = (name, start, end) =>
  start + PRIORITY_AT + 1 < end &&
  name[start + VERSION_AT] === EIGHT &&
  (name[start + PRIORITY_AT] !== ZERO || name[start + PRIORITY_AT + 1] !== ZERO) &&
  name[start + PREFIX_AT] === C;

// A lease of up to 24 hours in 16 bits: a number below 2^11, and how many times to double it.
const MANTISSA_BITS = 11;
const MANTISSA = 2 ** MANTISSA_BITS - 1;

/** The least number of this kind that is no shorter than the lease, since a shorter one would make two leaders. 0 if there is none. */
function leaseBits(leaseMs: number): number {
  if (!isLease(leaseMs)) return 0;
  let mantissa = Math.ceil(leaseMs);
  let exponent = 0;
  for (; mantissa > MANTISSA; exponent++) mantissa = Math.ceil(mantissa / 2);
  return (exponent << MANTISSA_BITS) | mantissa;
}

/** `undefined` for bits that {@link leaseBits} gives for no lease. */
function leaseOfBits(bits: number): number | undefined {
  const ms = (bits & MANTISSA) * 2 ** (bits >> MANTISSA_BITS);
  const leaseMs = Math.min(ms, LONGEST_LEASE_MS); // The longest lease is rounded up to more than a record may say.
  return leaseMs > 0 && leaseBits(leaseMs) === bits ? leaseMs : undefined;
}

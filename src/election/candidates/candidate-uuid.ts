import type { QueueEntry } from '../../queue/names-and-order.js';
import type { NameTest } from '../../session/protocol/child-names.js';
import { isLease, LONGEST_LEASE_MS } from '../record/record.js';

/** The facts about a candidate that others need in order to write a record for it. */
export interface CandidateLease {
  /** How long its lease lasts at most, in milliseconds. */
  readonly leaseMs: number;
  /** See `ElectionRecord`. */
  readonly silentMs?: number | undefined;
}

/**
 * The uuid of a candidate. It has version 8, which RFC 9562 leaves to its users, and carries the facts that a leader needs about the
 * candidate. So one request, a listing of the queue, shows which candidate may lead next, and with which lease.
 *
 * xxxxxxxx-xxxx-8Fpp-Vxxx-LLLLSSSSxxxx
 *
 * `F` is the format. `pp` is the priority, `LLLL` the lease, `SSSS` how long the candidate may be silent. `V` has the variant's two
 * bits. 78 bits come from `random`.
 * @param random - a uuid of version 4
 * @param lease - the candidate's times. The times that are read from the uuid are as long, or longer by 0.1 % and 1 ms at most
 */
export function candidateUuid(random: string, priority: number, lease: CandidateLease): string {
  const [first, second, , fourth = '', fifth = ''] = random.split('-');
  const variant = (VARIANT | (Number.parseInt(fourth[0] ?? '0', 16) & 0b11)).toString(16);
  return [
    first,
    second,
    `8${FORMAT}${priority.toString(16).padStart(2, '0')}`,
    `${variant}${fourth.slice(1)}`,
    `${hexOf(lease.leaseMs)}${hexOf(lease.silentMs ?? 0)}${fifth.slice(8)}`,
  ].join('-');
}

function hexOf(ms: number): string {
  return leaseBits(ms).toString(16).padStart(4, '0');
}

const FORMAT = '1';
const VARIANT = 0b1000; // Of RFC 9562, in the highest of four bits.

const NONE = '0000';

const GROUPS =
  /^[0-9a-f]{8}-[0-9a-f]{4}-8([0-9a-f])([0-9a-f]{2})-[89ab][0-9a-f]{3}-([0-9a-f]{4})([0-9a-f]{4})[0-9a-f]{4}$/;

/** The lease of a candidate, by its name. `undefined` for other clients: their uuids have other versions or no hyphens. */
export function leaseOf({ id }: QueueEntry): CandidateLease | undefined {
  const [, format, , lease = '', silent = ''] = GROUPS.exec(id) ?? [];
  const leaseMs = leaseOfBits(Number.parseInt(lease, 16));
  if (leaseMs === undefined || format !== FORMAT) return undefined;
  if (silent === NONE) return { leaseMs };
  const silentMs = leaseOfBits(Number.parseInt(silent, 16));
  return silentMs === undefined ? undefined : { leaseMs, silentMs };
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

import { type Beating, MISSING } from '../../lease/silence.js';
import { heartbeatNodeOf } from '../../queue/names-and-order.js';
import type { PartResult, Stat, TransactionPart } from '../../session/protocol/records.js';
import type { Successor } from '../candidates/successor.js';
import {
  type Beginning,
  type ElectionRecord,
  type ReadRecord,
  type SeenRecord,
  serializeRecord,
} from '../record/record.js';
import { withRequest } from '../requests/candidate-request.js';

/**
 * The writes of an election, as parts of transactions: nothing else writes a record. Each expects the version of the record that its
 * sender has seen, so for each version the servers carry out one of them.
 * README.md of the election has them in one table.
 */

const NO_DATA = Buffer.alloc(0);

/** A record that is about to be written: its path, and the version that it must have. */
export interface Writable {
  readonly path: string;
  readonly version: number;
}

/** Makes the record say that a candidate holds the term. The candidate sends it together with a proof. */
export function claimParts(
  { path, version }: Writable,
  held: Omit<Extract<ElectionRecord, { state: 'held' }>, 'state'>,
): TransactionPart {
  return { kind: 'set', path, data: serializeRecord({ state: 'held', ...held }), version };
}

/**
 * Empties a record that can't be read. It may be that of a leader of another release, which can read it: that leader's proofs are refused
 * from then on, and no term begins.
 */
export function emptyPart({ path, version }: Writable): TransactionPart {
  return { kind: 'set', path, data: NO_DATA, version };
}

/**
 * Deletes the nodes of a silent holder. If there was another heartbeat after the version was seen, the servers refuse the first part, and
 * with it the whole transaction. If there was none, none can follow: a heartbeat needs both nodes. A heartbeat node that is missing is
 * never created again.
 */
export function takeoverParts(
  queue: string,
  holder: string,
  { version }: Pick<Beating, 'version'>,
): TransactionPart[] {
  const own = { kind: 'delete', path: `${queue}/${holder}` } as const;
  if (version === MISSING) return [own];
  return [{ kind: 'delete', path: `${queue}/${heartbeatNodeOf(holder)}`, version }, own];
}

/**
 * Makes a candidate the holder of a term. The servers refuse it if the candidate has left the queue. A candidate that isn't the first
 * learns of the term from a mark on its own node. Then the servers also refuse it if that node has changed since it was read.
 * @param began - how the former term ended, if its own leader doesn't hand it over
 */
export function handOverParts(
  queue: string,
  { path, version }: Writable,
  successor: Successor,
  term: number,
  began: Beginning = 'handover',
): TransactionPart[] {
  const { node, leaseMs } = successor;
  const known = !successor.isFirst && { id: successor.id };
  const held = { state: 'held', term, ...known, began, node, leaseMs } as const;
  return [
    successorPart(`${queue}/${node}`, successor, term),
    { kind: 'set', path, data: serializeRecord(held), version },
  ];
}

function successorPart(path: string, successor: Successor, term: number): TransactionPart {
  if (successor.isFirst) return { kind: 'check', path };
  const marked = withRequest(successor.data, { kind: 'lead', term }) as Buffer; // Never `undefined`: a successor was made of a candidate's node.
  return { kind: 'set', path, data: marked, version: successor.version };
}

/**
 * A clean release: the record says that the successor leads the next term, or that no candidate leads. The servers refuse it if the record
 * was written since the claim, or if the node is gone. So it does no harm to send it twice.
 * @param term - the term that ends
 * @param deletions - the parts that delete the leader's nodes, its own node first: if that is gone, the error says so, whatever the
 *   state of the record
 */
export function releaseParts(
  queue: string,
  record: Writable & { readonly term: number },
  successor: Successor | undefined,
  deletions: readonly TransactionPart[],
): TransactionPart[] {
  const { path, version, term } = record;
  if (successor !== undefined) return [...deletions, ...handOverParts(queue, record, successor, term + 1)];
  return [...deletions, { kind: 'set', path, data: serializeRecord({ state: 'vacant', term }), version }];
}

/** Leaves the queue while the record doesn't name the candidate. The servers refuse it if the record was written since it was read. */
export function leaveParts(
  { path, version }: Writable,
  deletions: readonly TransactionPart[],
): TransactionPart[] {
  return [{ kind: 'check', path, version }, ...deletions];
}

/** The record as its last write, the last part of a transaction, has left it. */
export function seenAfter<R extends ReadRecord>(
  value: R,
  { value: results }: { readonly value: readonly PartResult[] },
  connection: number,
): SeenRecord<R> {
  const stat = results.at(-1)?.stat as Stat;
  return { value, version: stat.version, zxid: stat.mzxid, connection };
}

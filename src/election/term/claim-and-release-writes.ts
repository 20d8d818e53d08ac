import { type Beating, MISSING } from '../../lease/failure-detector.js';
import { heartbeatNodeOf } from '../../queue/names-and-order.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { RecordWrite } from '../../session/versioned-records.js';
import type { Successor } from '../candidates/successor.js';
import { type Beginning, type ElectionRecord, serializeRecord } from '../record/election-record.js';
import { withRequest } from '../requests/candidate-request.js';

/**
 * The writes of an election, as parts of transactions: nothing else writes a record. Each expects the version of the record that its
 * sender has seen, so for each version the servers carry out one of them.
 * README.md of the election has them in one table.
 */

const NO_DATA = Buffer.alloc(0);

/** A record that is about to be written, as it was seen. */
export type Writable = Omit<RecordWrite, 'data' | 'parts'>;

/**
 * Makes the record say that a candidate holds the term. The candidate sends it together with a proof.
 * @param parts - those of a takeover
 */
export function claimOf(
  record: Writable,
  held: Omit<Extract<ElectionRecord, { state: 'held' }>, 'state'>,
  parts: readonly TransactionPart[],
): RecordWrite {
  return { ...record, data: serializeRecord({ state: 'held', ...held }), parts };
}

/**
 * Empties a record that can't be read. It may be that of a leader of another release, which can read it: that leader's proofs are refused
 * from then on, and no term begins.
 */
export function emptyingOf(record: Writable): RecordWrite {
  return { ...record, data: NO_DATA };
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
 * @param parts - those that end the former holder's place
 * @param began - how the former term ended, if its own leader doesn't hand it over
 */
export function handoverOf(
  record: Writable,
  successor: Successor,
  term: number,
  parts: readonly TransactionPart[],
  began: Beginning = 'handover',
): RecordWrite {
  const { node, leaseMs } = successor;
  const known = !successor.isFirst && { id: successor.id };
  const held = { state: 'held', term, ...known, began, node, leaseMs } as const;
  const marked = successorPart(`${record.path}/${node}`, successor, term);
  return { ...record, data: serializeRecord(held), parts: [...parts, marked] };
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
export function releaseOf(
  record: Writable,
  term: number,
  successor: Successor | undefined,
  deletions: readonly TransactionPart[],
): RecordWrite {
  if (successor !== undefined) return handoverOf(record, successor, term + 1, deletions);
  return { ...record, data: serializeRecord({ state: 'vacant', term }), parts: deletions };
}

/** Leaves the queue while the record doesn't name the candidate. The servers refuse it if the record was written since it was read. */
export function leaveParts(
  { path, version }: Omit<Writable, 'connection'>,
  deletions: readonly TransactionPart[],
): TransactionPart[] {
  return [{ kind: 'check', path, version }, ...deletions];
}

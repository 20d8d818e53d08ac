import type { TransactionPart } from '../../session/protocol/records.js';
import { serializeRecord, writesOfRelease } from '../nodes/record.js';
import type { ReleasableClaim } from './claim.js';

/**
 * The writes of a clean release: the record says vacant and the node is gone, all or nothing. Nothing if the record was
 * written since the claim, or the node is gone; so they can be carried out twice.
 * @param nodeVersion - nothing unless the leader's node is at this version
 */
export function releaseParts(
  { record, version, term, node }: ReleasableClaim,
  successor?: string,
  nodeVersion?: number,
): TransactionPart[] {
  const data = serializeRecord({ state: 'vacant', term, ...(successor !== undefined && { successor }) });
  return [
    ...recordWrites(record, data, version, writesOfRelease(successor)),
    { kind: 'delete', path: node, ...(nodeVersion !== undefined && { version: nodeVersion }) },
  ];
}

/** Writes of a record one after the other, in one transaction: it is at `version` before, and `times` on after. */
export function recordWrites(
  record: string,
  data: Buffer,
  version: number,
  times: number,
): TransactionPart[] {
  return Array.from({ length: times }, (_, write) => {
    return { kind: 'set', path: record, data, version: version + write };
  });
}

import type { Contender } from '../../lock/queue/contender.js';
import type { TransactionPart } from '../../session/protocol/records.js';
import { type HandedTerm, handoverParts } from './successor.js';
import type { SuccessorSearch } from './successor-search.js';

/** A term that a candidate may claim, or hand over, as long as its session has the connection on which the record was read. */
export type OpenTerm = HandedTerm & { readonly connection: number | undefined };

/**
 * Hands a term that is open to the candidate with the highest priority behind `first`, in the place of its claim.
 * @param after - the name of the former leader's node
 * @param deletions - parts of the same transaction
 * @returns the name of that candidate's node; `undefined`: there is none, or the connection is another one
 * @throws what ended the session, or the servers' refusal: nothing is written then, or the reply was lost
 */
export async function handOverToPreferred(
  first: Contender,
  search: SuccessorSearch,
  { connection, ...term }: OpenTerm,
  after: string,
  deletions: readonly TransactionPart[] = [],
): Promise<string | undefined> {
  const preferred = await search.preferredTo(first, after);
  const { session, node, queue } = first;
  if (preferred === undefined || session.connectionNumber !== connection) return undefined;
  await node.commit([...deletions, ...handoverParts(queue, preferred, term)]);
  return preferred.node;
}

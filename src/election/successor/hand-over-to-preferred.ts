import type { Contender } from '../../lock/queue/contender.js';
import type { TransactionPart } from '../../session/protocol/records.js';
import { type HandedTerm, handoverParts } from './successor.js';
import type { SuccessorSearch } from './successor-search.js';

/**
 * A term that a candidate may claim or hand over, as long as its session has the connection over which the record was
 * read.
 */
export type OpenTerm = HandedTerm & { readonly connection: number | undefined };

/**
 * Hands an open term to the candidate with the highest priority behind `first`. This replaces the claim of `first`.
 * @param after - the name of the former leader's node
 * @param deletions - further parts of the same transaction
 * @returns the name of that candidate's node; `undefined` if there is none, or the session has another connection
 * @throws the error that ended the session, the servers' refusal, in which case nothing is written, or a lost reply
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

import { parseJsonObject } from '../../platform/json.js';

/**
 * A message that another client writes on a candidate's node, beside the data that the candidate advertises. Every
 * client that may write the node may do so. The candidate watches its node and sees the message at once.
 */
export type CandidateRequest =
  /** This term was handed over to the candidate. The record, written in the same transaction, says so too. */
  | { readonly kind: 'lead'; readonly term: number }
  /** Step down. `key` tells one such request from another. `refused` is the leader's answer. */
  | {
      readonly kind: 'step-down';
      readonly key: string;
      readonly by: string;
      readonly graceMs: number;
      /** The candidate that is to lead next: its id, or the name of its node. Without `to` the queue decides. */
      readonly to?: string;
      readonly refused?: boolean;
      /** Given if the leader refused because there is no candidate `to`, and not by its own decision. */
      readonly reason?: RefusalReason;
    };

export type RefusalReason = 'no-candidate';

export type StepDownRequest = Extract<CandidateRequest, { kind: 'step-down' }>;

const LONGEST_GRACE_MS = 24 * 60 * 60 * 1000;

/** The request on a candidate's node, if there is one. Any client may have written the node, so a malformed request counts as none. */
export function parseRequest(data: Buffer): CandidateRequest | undefined {
  const request = parseJsonObject(data)?.request;
  if (typeof request !== 'object' || request === null) return undefined;
  const { kind, term, key, by, graceMs, to, refused, reason } = request as Record<string, unknown>;
  if (kind === 'lead' && Number.isSafeInteger(term)) return { kind, term: term as number };
  if (kind !== 'step-down' || typeof key !== 'string' || typeof by !== 'string') return undefined;
  if (typeof graceMs !== 'number' || !(graceMs >= 0 && graceMs <= LONGEST_GRACE_MS)) return undefined;
  if (to !== undefined && typeof to !== 'string') return undefined; // The queue mustn't decide for a name that is unreadable.
  const named = to !== undefined && { to };
  const answer = refused === true && { refused, ...(reason === 'no-candidate' && { reason }) };
  return { kind, key, by, graceMs, ...named, ...answer } as StepDownRequest;
}

/**
 * The data of a candidate's node, with `request` in it or without any. `undefined` for another client's node: that
 * client wouldn't act on it.
 */
export function withRequest(data: Buffer, request: CandidateRequest | undefined): Buffer | undefined {
  const node = parseJsonObject(data);
  if (typeof node?.id !== 'string') return undefined;
  return Buffer.from(JSON.stringify({ ...node, request }));
}

/** The `bytes` that a candidate wants to write, with the request that another client has written on its `node`. */
export function withRequestOf(bytes: Buffer, node: Buffer): Buffer {
  return withRequest(bytes, parseRequest(node)) ?? bytes;
}

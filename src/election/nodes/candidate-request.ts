import { parseEntry } from '../../lock/queue/order.js';
import { parseJsonObject } from '../../platform/json.js';

/**
 * What somebody asks of a candidate, written on the candidate's own node beside what it advertises. Who may write there
 * has the right to ask; the candidate watches its node and sees it at once.
 */
export type CandidateRequest =
  /** Claim the next term when the node of that name is gone, though others are ahead in the queue. */
  | { readonly kind: 'succeed'; readonly after: string }
  /** Step down. `key` tells one such request from another; `refused` is the leader's answer. */
  | {
      readonly kind: 'step-down';
      readonly key: string;
      readonly by: string;
      readonly graceMs: number;
      readonly refused?: boolean;
    };

export type StepDownRequest = Extract<CandidateRequest, { kind: 'step-down' }>;

const LONGEST_GRACE_MS = 24 * 60 * 60 * 1000;

/** The request on a candidate's node, if there is one. Anybody may have written it: what isn't exactly one is none. */
export function parseRequest(data: Buffer): CandidateRequest | undefined {
  const request = parseJsonObject(data)?.request;
  if (typeof request !== 'object' || request === null) return undefined;
  const { kind, after, key, by, graceMs, refused } = request as Record<string, unknown>;
  if (kind === 'succeed' && typeof after === 'string' && parseEntry(after) !== undefined)
    return { kind, after };
  if (kind !== 'step-down' || typeof key !== 'string' || typeof by !== 'string') return undefined;
  if (typeof graceMs !== 'number' || !(graceMs >= 0 && graceMs <= LONGEST_GRACE_MS)) return undefined;
  return { kind, key, by, graceMs, ...(refused === true && { refused }) };
}

/**
 * A candidate's node with `request` on it; `undefined` as `request` takes it off. Gives `undefined` if the node isn't one
 * that a request can be put on: a candidate of another client, which wouldn't heed it.
 */
export function withRequest(data: Buffer, request: CandidateRequest | undefined): Buffer | undefined {
  const node = parseJsonObject(data);
  if (typeof node?.id !== 'string') return undefined;
  return Buffer.from(JSON.stringify({ ...node, request }));
}

const NOTE = 'priority';

/**
 * Whether somebody has noted on a leader's node that one with a priority has come into its queue. It stays until the node
 * is gone. What isn't a candidate's node can't carry a note, and counts as if it did.
 */
export function hasNote(data: Buffer): boolean {
  const node = parseJsonObject(data);
  return typeof node?.id !== 'string' || node.note === NOTE;
}

/** A candidate's node with that note on it, beside the request; `undefined` if it isn't a candidate's node. */
export function withNote(data: Buffer): Buffer | undefined {
  const node = parseJsonObject(data);
  return typeof node?.id === 'string' ? Buffer.from(JSON.stringify({ ...node, note: NOTE })) : undefined;
}

/** A candidate's node as `bytes` say, and with all that others have written on `node`, as it is now. */
export function withAllAsked(bytes: Buffer, node: Buffer): Buffer {
  const asked = withRequest(bytes, parseRequest(node)) ?? bytes;
  return hasNote(node) ? (withNote(asked) ?? asked) : asked;
}

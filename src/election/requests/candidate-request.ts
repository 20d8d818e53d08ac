import { BadVersionError, NoNodeError } from '../../errors.js';
import { parseJsonObject } from '../../platform/json.js';
import { sleep } from '../../platform/time/clock.js';
import { isUnanswered } from '../../session/operations.js';
import type { Session } from '../../session/session.js';

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

const RETRY_WITHIN_MS = 20;

/**
 * Writes a request on a candidate's node, beside the data that the candidate advertises. It never overwrites a change of that data.
 * @param isCandidate - whether the node is surely a candidate's. Then the request is written also if another client has overwritten the data
 * @throws a `ZooKeeperError` if the server refuses, for lack of permission for example, or the error that ended the session
 */
export async function writeRequest(
  session: Session,
  path: string,
  request: CandidateRequest,
  isCandidate = false,
): Promise<'written' | 'gone'> {
  const wanted = JSON.stringify(request);
  for (let refusals = 0; ; ) {
    try {
      const { data, stat } = await session.retryUntilAnswered(() => session.getData(path));
      if (session.guard.ownerless.isOne(path, stat)) return 'gone'; // No client owns the node, so none would act on the request.
      if (JSON.stringify(parseRequest(data)) === wanted) return 'written'; // An earlier try may have written it, with its reply lost.
      const bytes =
        withRequest(data, request) ?? (isCandidate ? Buffer.from(JSON.stringify({ request })) : undefined);
      if (bytes === undefined) return 'gone';
      await session.setData(path, bytes, stat.version);
      return 'written';
    } catch (error) {
      if (error instanceof NoNodeError) return 'gone';
      if (isUnanswered(error)) continue;
      if (!(error instanceof BadVersionError)) throw error;
      // The owner may write the node again and again, in step with these tries.
      if (refusals++ > 0) await sleep(session.clock, RETRY_WITHIN_MS * session.environment.random());
    }
  }
}

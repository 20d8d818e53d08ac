import { NoCandidateError, RevocationRefusedError } from '../errors.js';
import { onAbort } from '../platform/async/lazy-abort-controller.js';
import { abortable } from '../platform/async/promises.js';
import { checkId, checkInstance, checkMs, checkOptions, checkPath, checkSignal } from '../platform/checks.js';
import { parseEntry } from '../queue/names-and-order.js';
import { untilFound } from '../session/observers/followed-node.js';
import type { NodeData } from '../session/protocol/multi-and-stats.js';
import { Session } from '../session/session.js';
import type { Candidate } from './candidates/candidate.js';
import { leaseOf } from './candidates/candidate-uuid.js';
import { SuccessorSearch } from './candidates/successor-search.js';
import { defaultId } from './elector-options.js';
import { ElectionReader } from './record/election-reader.js';
import { parseRequest, type StepDownRequest, writeRequest } from './requests/candidate-request.js';

/** How to ask a leader to step down. */
export interface RevocationOptions {
  /** How long the leader's work may take to settle, in milliseconds. @default the session timeout */
  readonly graceMs?: number;
  /**
   * The candidate that is to lead next: its id, or the name of its node; if several have that id, the first in the
   * queue. The leader hands its term over to this candidate, as `LeaderElector.handOver` does.
   * @default the candidate that the priorities and the queue decide on
   */
  readonly to?: string;
  /** The requester's name, which the leader sees. @default the host name, the process id and a random part */
  readonly by?: string;
  /** Aborting it ends the wait: the call rejects with the signal's reason. The request stays on the leader's node. */
  readonly signal?: AbortSignal;
}

/**
 * Asks an election's leader to step down: its term ends with the reason `revoked`, and it goes to the back of the
 * queue. The session writes the request on the leader's node, as Curator's Revoker does. So it needs the permission to
 * write that node: if the leader's session uses `auth`, give this session the same credentials.
 *
 * Resolves with the leader that was asked when that leader's node is gone, for whatever reason. Resolves with
 * `undefined` if no candidate leads.
 *
 * Not guaranteed: that the leader goes in time. As long as its session lives, no candidate replaces it before its work has settled. The
 * leader reports work that overruns the grace as `WorkOverrunError`. Also not guaranteed: that the candidate `to` leads next. If that
 * candidate leaves while the leader's work settles, or the leader loses its term, the queue decides.
 *
 * @throws NoCandidateError if there is no candidate `to` beside the leader, now or when the leader looks; the term goes on
 * @throws RevocationRefusedError if the leader refuses, or its node is still there a session timeout after the grace is over
 * @throws ZooKeeperError if the server doesn't let this session write the request
 * @throws SessionExpiredError, SessionClosedError if the session ends before
 * @throws the signal's reason if it aborts before
 * @throws InvalidOptionError if an argument is wrong
 */
export function revokeLeader(
  session: Session,
  path: string,
  options: RevocationOptions = {},
): Promise<Candidate | undefined> {
  return revokeThat(session, path, options);
}

/**
 * As {@link revokeLeader}.
 * @param isMeant - whether that leader is to be asked. If it isn't, no candidate is asked
 */
export async function revokeThat(
  session: Session,
  path: string,
  options: RevocationOptions,
  isMeant: (leader: Candidate) => boolean = () => true,
): Promise<Candidate | undefined> {
  checkInstance('session', session, Session);
  checkPath('path', path);
  checkOptions<RevocationOptions>('revocation', options, ['graceMs', 'to', 'by', 'signal']);
  const signal = checkSignal('signal', options.signal);
  const to = checkId('to', options.to);
  const key = session.environment.uuid();
  const request: StepDownRequest = {
    kind: 'step-down',
    key,
    by: checkId('by', options.by) ?? defaultId(key),
    graceMs: checkMs('graceMs', options.graceMs) ?? session.sessionTimeoutMs,
    ...(to !== undefined && { to }),
  };
  const leader = await abortable(new ElectionReader(session, path).leader(), signal);
  if (leader === undefined || !isMeant(leader)) return leader;
  if (to !== undefined) await abortable(checkCandidate(session, path, to, leader), signal);
  const node = `${path}/${leader.node}`;
  const entry = parseEntry(leader.node);
  const isCandidate = entry !== undefined && leaseOf(entry) !== undefined; // Its name shows that, whatever its data are.
  const write = () => writeRequest(session, node, request, isCandidate);
  if ((await abortable(write(), signal)) === 'written')
    await untilGone(session, node, leader, { request, write }, signal);
  return leader;
}

/** @throws NoCandidateError unless the leader could hand its term over to that candidate */
async function checkCandidate(session: Session, path: string, to: string, leader: Candidate): Promise<void> {
  const entry = parseEntry(leader.node);
  if (entry !== undefined) await new SuccessorSearch(session, path).named(to, entry);
}

/**
 * Resolves when the node is gone.
 * @throws RevocationRefusedError when the leader refuses or stays silent
 * @throws NoCandidateError when the leader doesn't find the candidate `to`
 */
async function untilGone(
  session: Session,
  node: string,
  leader: Candidate,
  { request, write }: { readonly request: StepDownRequest; readonly write: () => Promise<unknown> },
  signal: AbortSignal | undefined,
): Promise<void> {
  const controller = new AbortController();
  const unsubscribe = signal && onAbort(signal, () => controller.abort(signal.reason));
  const timer = session.clock.after(request.graceMs + session.sessionTimeoutMs, () =>
    controller.abort(new RevocationRefusedError(leader.id, false)),
  );
  try {
    const answered = ({ data }: NodeData) => {
      if (isOverwritten(data, request)) write().catch((error: unknown) => controller.abort(error));
      return refusalIn(data, leader, request);
    };
    const refusal = await untilFound(session, node, answered, controller.signal);
    if (refusal !== undefined) throw refusal;
  } finally {
    timer.clear();
    unsubscribe?.();
  }
}

/**
 * Whether the node has room for the request again: it carries one at a time. Another client has written a request before the leader read this
 * one, and the leader has refused that; or another client has overwritten the node.
 */
function isOverwritten(data: Buffer, { key }: StepDownRequest): boolean {
  const other = parseRequest(data);
  if (other === undefined) return true;
  return other.kind === 'step-down' && other.key !== key && other.refused === true;
}

/** What the leader has answered to that request, if it has refused it. */
function refusalIn(data: Buffer, leader: Candidate, { key, to }: StepDownRequest): Error | undefined {
  const answer = parseRequest(data);
  if (answer?.kind !== 'step-down' || answer.key !== key || !answer.refused) return undefined;
  return answer.reason === 'no-candidate' && to !== undefined
    ? new NoCandidateError(to)
    : new RevocationRefusedError(leader.id, true);
}

import type { Candidate } from '../election/candidates/candidate.js';
import { type RevocationOptions, revokeThat } from '../election/revoke-leader.js';
import {
  ConclaveError,
  InvalidOptionError,
  InvalidStateError,
  NoCandidateError,
  NoNodeError,
  RevocationRefusedError,
  ZooKeeperError,
} from '../errors.js';
import { abortable } from '../platform/async/promises.js';
import { isUnanswered } from '../session/operations.js';
import { isNoAuth } from '../session/protocol/error-codes.js';
import type { Session } from '../session/session.js';
import { changePins, moveShard } from '../shards/pinned-shards.js';
import { GroupPaths } from '../shards/stored/group-paths.js';
import { RequestError } from './request-guards.js';
import type { ElectionRoute, GroupRoute } from './routes.js';

export const CLOSED = new RequestError(503, 'CLOSED', 'the dashboard is closed');
export const NO_SERVER = new RequestError(503, 'NO_SERVER', 'the dashboard is not connected to a server now');

type Body = Readonly<Record<string, unknown>>;

const BY = 'the dashboard';
const MOVE_WITHIN_MS = 60_000;
const MOST_BODY_BYTES = 16 * 1024;

/**
 * Ends the term of an election's leader. Resolves with the id of that leader when it has gone.
 * @throws RequestError, or what ended the session
 */
export async function actOnElection(
  session: Session,
  { path, action }: ElectionRoute,
  body: Body,
  signal: AbortSignal,
): Promise<{ readonly former: string }> {
  checkKeys(body, ['leader', 'graceMs', ...{ resign: [], 'hand-over': ['to'], revoke: ['by'] }[action]]);
  if (action === 'hand-over' && typeof body.to !== 'string')
    throw new RequestError(400, 'INVALID_BODY', 'hand-over needs `to`, the id or node of a candidate');
  const { leader: node, ...rest } = body;
  if (node !== undefined && typeof node !== 'string')
    throw new RequestError(400, 'INVALID_BODY', "`leader` must be the name of the leader's node");
  const isMeant = (leader: Candidate) => node === undefined || leader.node === node;
  const options: RevocationOptions = { by: BY, ...rest, signal }; // It checks the values itself.
  const former = await revokeThat(session, path, options, isMeant);
  if (former === undefined) throw new RequestError(409, 'NO_LEADER', 'the election has no leader now');
  if (!isMeant(former))
    throw new RequestError(409, 'OTHER_LEADER', `${former.id} leads now: no candidate was asked`);
  return { former: former.id };
}

/**
 * Moves a shard, or pins it, or takes its pin away. Resolves with the ids of the shards that have moved, if it was a move.
 * @throws RequestError, or what ended the session
 */
export async function actOnGroup(
  session: Session,
  { path, action }: GroupRoute,
  body: Body,
  signal: AbortSignal,
): Promise<{ readonly moved?: readonly string[] }> {
  checkKeys(body, ['shard', 'member']);
  const shard = text(body, 'shard');
  const paths = new GroupPaths(path);
  if (action === 'unpin') {
    await changePins(session, paths, (pins) => new Map([...pins].filter(([id]) => id !== shard)));
    return {};
  }
  const member = text(body, 'member');
  if (action === 'pin') {
    await changePins(session, paths, (pins) => new Map([...pins, [shard, member]]));
    return {};
  }
  const late = new AbortController();
  const error = new RequestError(409, 'NOT_IN_TIME', `shard ${shard} has not moved in time`);
  const timer = session.clock.after(MOVE_WITHIN_MS, () => late.abort(error));
  try {
    const either = AbortSignal.any([signal, late.signal]);
    return { moved: await moveShard(session, paths, { shard, member }, either) };
  } finally {
    timer.clear();
  }
}

function text(body: Body, name: string): string {
  const value = body[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new RequestError(400, 'INVALID_BODY', `\`${name}\` must be a non-empty string`);
}

function checkKeys(body: Body, known: readonly string[]): void {
  const wrong = Object.keys(body).find((key) => !known.includes(key));
  if (wrong !== undefined)
    throw new RequestError(
      400,
      'INVALID_BODY',
      `\`${wrong.slice(0, 64)}\` is unknown here: expected one of ${known.join(', ')}`,
    );
}

/**
 * The JSON object that a request carries. The type is required of each request, also of one without a body: a page of another site can't
 * send that type before the browser has asked the dashboard. @throws RequestError
 */
export async function bodyOf(request: Request, signal: AbortSignal): Promise<Body> {
  const [type] = (request.headers.get('content-type') ?? '').split(';');
  const isJson = type?.trim().toLowerCase() === 'application/json';
  const bytes = await abortable(bytesOf(request), signal);
  if (!isJson)
    throw new RequestError(415, 'NOT_JSON', 'the body of an action must be of the type application/json');
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body;
  } catch {
    throw new RequestError(400, 'INVALID_BODY', 'the body is not JSON');
  }
  throw new RequestError(400, 'INVALID_BODY', 'the body must be a JSON object');
}

async function bytesOf({ body }: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.byteLength;
    if (length > MOST_BODY_BYTES)
      throw new RequestError(
        413,
        'BODY_TOO_LONG',
        `the body of an action may have at most ${MOST_BODY_BYTES} bytes`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The answer to an action that failed. A pure decision. */
export function requestErrorOf(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  if (!(error instanceof ConclaveError))
    return new RequestError(500, 'INTERNAL', "the action has failed: see the dashboard's log");
  const { code, message } = error;
  const prefix = isNoAuth(error) ? "the servers don't allow the dashboard to do this: " : '';
  return new RequestError(statusOf(error), code, prefix + message);
}

const CONFLICTS = [RevocationRefusedError, NoCandidateError, InvalidStateError, ZooKeeperError];

function statusOf(error: ConclaveError): number {
  if (error instanceof NoNodeError) return 404;
  if (error instanceof InvalidOptionError) return 400;
  if (isUnanswered(error) || error.code.startsWith('SESSION_')) return 503;
  return CONFLICTS.some((type) => error instanceof type) ? 409 : 500;
}

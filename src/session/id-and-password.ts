import type { HeartbeatTimes } from '../platform/time/heartbeat-intervals.js';
import { type Handshake, type HandshakeReply, NEW_SESSION } from './protocol/requests.js';
import type { ResolvedSessionOptions } from './session-options.js';

/** Proves to the servers that a session is the caller's own. */
export type SessionCredentials = Pick<Handshake, 'id' | 'password'>;

/**
 * The data that a session shows to a server, and the times that the servers have granted. The password has one character for each
 * byte, because a Buffer takes six times as much memory.
 */
export interface SessionIdentity extends HeartbeatTimes {
  /** 0 before the servers have given an id, and after a server has closed the session. */
  readonly id: bigint;
  readonly password: string;
  /** The greatest `Connection.lastZxid` of all its connections. */
  readonly lastZxid: bigint;
  /** The `Connection.repliedZxid` of its last connection. */
  readonly repliedZxid: bigint;
}

type AskedTimes = Pick<ResolvedSessionOptions, 'sessionTimeoutMs' | 'leaseMs'>;

const PASSWORD_ENCODING = 'latin1';

/** The identity of a session before its first handshake. For a session that is taken over, give its `credentials`. */
export function newIdentity(
  asked: AskedTimes,
  credentials: SessionCredentials = NEW_SESSION,
): SessionIdentity {
  const { sessionTimeoutMs, leaseMs = sessionTimeoutMs / 3 } = asked;
  return { ...encoded(credentials), lastZxid: 0n, repliedZxid: 0n, sessionTimeoutMs, leaseMs };
}

export function credentialsOf({ id, password }: SessionIdentity): SessionCredentials {
  return { id, password: Buffer.from(password, PASSWORD_ENCODING) };
}

export function isKnown({ id }: SessionIdentity): boolean {
  return id !== NEW_SESSION.id;
}

export function granted(
  identity: SessionIdentity,
  reply: Omit<HandshakeReply, 'protocolVersion'>,
  { leaseMs }: AskedTimes,
): SessionIdentity {
  const sessionTimeoutMs = reply.timeoutMs;
  const fitting = leaseMs !== undefined && leaseMs < sessionTimeoutMs ? leaseMs : sessionTimeoutMs / 3;
  // A lease never grows: other clients wait by the length that the record or the candidate's name says.
  const grantedMs = isKnown(identity) ? Math.min(identity.leaseMs, fitting) : fitting;
  return { ...identity, ...encoded(reply), sessionTimeoutMs, leaseMs: grantedMs };
}

export function withZxidsOf(
  identity: SessionIdentity,
  { lastZxid, repliedZxid }: Pick<SessionIdentity, 'lastZxid' | 'repliedZxid'>,
): SessionIdentity {
  return { ...identity, lastZxid: lastZxid > identity.lastZxid ? lastZxid : identity.lastZxid, repliedZxid };
}

/** The identity after a server has closed the session. Its `lastZxid` stays, because the owner's next session is compared with it. */
export function withoutCredentials(identity: SessionIdentity): SessionIdentity {
  return { ...identity, ...encoded(NEW_SESSION), repliedZxid: 0n };
}

function encoded({ id, password }: SessionCredentials): Pick<SessionIdentity, 'id' | 'password'> {
  return { id, password: password.toString(PASSWORD_ENCODING) };
}

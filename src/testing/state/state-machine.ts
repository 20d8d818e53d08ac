import { timingSafeEqual } from 'node:crypto';
import { ERROR_CODES, ErrorReply, fail, XID } from '../protocol/op-codes.js';
import { type Body, NO_ZXID, type ReplyParts, tokenBody } from '../protocol/replies.js';
import type {
  Authentication,
  ClientRequest,
  ConnectRequest,
  ReadOperation,
  SaslToken,
  SessionOperation,
  WriteOperation,
} from '../protocol/requests.js';
import { OPEN_ACL, provenIdentity } from './acl.js';
import { read } from './answer-reads.js';
import { type Author, applyMulti, applyWrite, multiBody, writeBody } from './apply-writes.js';
import type { Traits } from './dialects.js';
import { challengeOf, type SaslUsers, verdictOn } from './sasl-digest-md5.js';
import { type Client, type SessionRecord, SessionTable } from './session-table.js';
import { type TreeChange, WatchTable } from './watch-table.js';
import { parentOf, type Stamp, ZnodeTree } from './znode-tree.js';

export interface Moment {
  readonly nowMs: number; // Monotonic, for sessions.
  readonly timeMs: number; // Milliseconds of the epoch, for stats.
}

export type ConnectResult =
  | { readonly kind: 'accepted'; readonly session: SessionRecord }
  | { readonly kind: 'refused' } // There is no such session, or the client doesn't own it.
  | { readonly kind: 'ahead' }; // The client has seen a zxid that this server hasn't: it gets no answer.

/** The schemes of which a server can require an identity. */
export const REQUIRED_SCHEMES = ['sasl', 'digest'] as const;
export type RequiredScheme = (typeof REQUIRED_SCHEMES)[number];

/** How clients prove who they are, and whether they must. */
export interface Security {
  /** `undefined`: the server has no SASL. May be replaced at any time. */
  users: SaslUsers | undefined;
  /** A client needs an identity of one of these schemes for all but authentication. Empty: it needs none. */
  readonly required: readonly RequiredScheme[];
}

export interface StateMachineOptions {
  readonly tickMs: number;
  readonly minSessionTimeoutMs: number; // The bounds of what it grants.
  readonly maxSessionTimeoutMs: number;
  readonly firstSessionId: bigint; // The id of the first session; each later session's id is one more.
  readonly firstZxid: bigint; // Of the last transaction before those of this server.
  readonly newPassword: () => Buffer;
  readonly newNonce: () => string; // Of a SASL exchange.
  readonly security: Security;
  readonly traits: Traits;
}

const NEW_SESSION = 0n;

/**
 * The state of a ZooKeeper server and how it changes: nodes, sessions, watches, transactions. It has no clock, no timer and
 * no socket; the time is passed in.
 *
 * It sends every event to its watcher before it answers the request that caused it, so a client that receives both in
 * that order sees no later state before the event.
 */
export class StateMachine {
  readonly tree = new ZnodeTree();
  readonly watches: WatchTable;
  /** How this server answers where releases differ. */
  readonly traits: Traits;
  readonly sessions: SessionTable;
  readonly #options: StateMachineOptions;
  readonly #clients = new Map<SessionRecord, Client>();
  /** The nonce of each connection that has sent a token; '' after its exchange, since there is one at most on a connection. */
  readonly #saslNonces = new WeakMap<Client, string>();
  /** The zxid of the latest transaction. */
  zxid: bigint;
  nextSessionId: bigint;

  constructor(options: StateMachineOptions) {
    this.#options = options;
    this.zxid = options.firstZxid;
    this.traits = options.traits;
    this.watches = new WatchTable(options.traits);
    this.nextSessionId = options.firstSessionId;
    this.sessions = new SessionTable(options.tickMs);
  }

  clientOf(session: SessionRecord): Client | undefined {
    return this.#clients.get(session);
  }

  /** Opens a session for a connection, or moves an existing session to it from its former connection. */
  connect(client: Client, request: ConnectRequest, { nowMs }: Moment): ConnectResult {
    const { resumesSessions } = this.traits;
    if (resumesSessions && request.lastZxid > this.zxid) return { kind: 'ahead' };
    const { minSessionTimeoutMs, maxSessionTimeoutMs } = this.#options;
    const timeoutMs = Math.max(minSessionTimeoutMs, Math.min(maxSessionTimeoutMs, request.timeoutMs));
    const asksForNew = request.sessionId === NEW_SESSION || !resumesSessions;
    const session = asksForNew ? this.#openSession(timeoutMs, nowMs) : this.#reattach(request);
    if (session === undefined) return { kind: 'refused' };
    session.timeoutMs = timeoutMs;
    this.sessions.touch(session, nowMs);
    client.session = session;
    this.#clients.set(session, client);
    return { kind: 'accepted', session };
  }

  #openSession(timeoutMs: number, nowMs: number): SessionRecord {
    this.zxid++;
    return this.sessions.open(this.nextSessionId++, this.#options.newPassword(), timeoutMs, nowMs);
  }

  #reattach({ sessionId, password }: ConnectRequest): SessionRecord | undefined {
    const session = this.sessions.get(sessionId);
    if (session === undefined) return undefined;
    // ZooKeeper ends the former connection before it looks at the password.
    this.#clients.get(session)?.disconnect();
    this.#clients.delete(session);
    const isOwner =
      password.length === session.password.length && timingSafeEqual(password, session.password);
    return isOwner ? session : undefined;
  }

  /** The connection is gone. Its watches are removed, its session stays. */
  disconnected(client: Client): void {
    this.watches.removeAll(client);
    if (client.session !== undefined && this.#clients.get(client.session) === client)
      this.#clients.delete(client.session);
  }

  /**
   * Ends a session: deletes its ephemeral nodes, notifies other sessions that watch them, and ends its connection. Whether ZooKeeper
   * notifies the session itself before that is a race: here it never does, so that a test always sees the same of an expiry.
   */
  closeSession(session: SessionRecord, { timeMs }: Moment): void {
    const stamp = this.#nextStamp(timeMs);
    const client = this.#clients.get(session);
    if (client !== undefined) this.watches.removeAll(client);
    for (const path of [...this.tree.ephemeralsOf(session.id)]) this.#deleteByServer(path, stamp);
    this.sessions.remove(session);
    this.#clients.delete(session);
    client?.disconnect();
  }

  expire(moment: Moment): SessionRecord[] {
    const expired = this.sessions.expired(moment.nowMs);
    for (const session of expired) this.closeSession(session, moment);
    return expired;
  }

  /** Deletes the containers that had children and have none now. */
  sweepContainers({ timeMs }: Moment): void {
    for (const path of this.tree.abandonedContainers()) this.#deleteByServer(path, this.#nextStamp(timeMs));
  }

  /** Carries out a request. `undefined`: ZooKeeper doesn't answer it. */
  execute(client: Client, { xid, type, operation }: ClientRequest, moment: Moment): ReplyParts | undefined {
    const isAuthentication = type?.name === 'auth' || type?.name === 'sasl';
    if (!isAuthentication && !this.#mayAsk(client))
      return { xid, zxid: 0n, code: ERROR_CODES.SESSION_CLOSED_REQUIRE_SASL_AUTH, isLast: true };
    if (type !== undefined && this.traits.unknownOperations.has(type.name)) {
      client.disconnect();
      return undefined;
    }
    const isUnknown = type?.name === 'check' && this.traits.checkOnlyInMulti;
    if (type === undefined || isUnknown)
      return { xid, zxid: NO_ZXID, code: ERROR_CODES.UNIMPLEMENTED, isLast: true };
    if (isAuthentication || type.name === 'closeSession')
      return this.#serveSession(client, xid, operation as SessionOperation | undefined, moment);
    const { session } = client;
    const isAlive = session !== undefined && this.#clients.get(session) === client;
    const isKept = type.writes || type.name === 'ping' || this.traits.readsKeepSessions;
    if (isAlive && isKept) this.sessions.touch(session, moment.nowMs);
    const stamp = type.writes ? this.#nextStamp(moment.timeMs) : undefined;
    const answer = this.#answer(() => {
      if (!isAlive) fail('SESSION_EXPIRED');
      if (operation === undefined) fail('MARSHALLING_ERROR');
      if (stamp === undefined) return read(this, operation as ReadOperation, client);
      return this.#write(operation as WriteOperation, {
        sessionId: session.id,
        identities: client.identities,
        mayNameSaslUsers: this.#options.security.users !== undefined,
        stamp,
        traits: this.traits,
      });
    });
    if (answer.code === ERROR_CODES.OK && type.name === 'check') return undefined;
    return { xid: type.name === 'ping' ? XID.ping : xid, zxid: this.zxid, ...answer };
  }

  #mayAsk({ identities }: Client): boolean {
    const { required } = this.#options.security;
    return (
      required.length === 0 || required.some((scheme) => identities.some((each) => each.scheme === scheme))
    );
  }

  #answer(attempt: () => Body | undefined): { readonly code: number; readonly body?: Body | undefined } {
    try {
      return { code: ERROR_CODES.OK, body: attempt() };
    } catch (error) {
      if (error instanceof ErrorReply) return { code: error.code };
      throw error;
    }
  }

  #write(operation: WriteOperation, author: Author): Body | undefined {
    switch (operation.kind) {
      case 'reconfig':
        return fail('RECONFIG_DISABLED');
      case 'deleteContainer':
        return fail('BAD_ARGUMENTS'); // Only servers may use it.
      case 'multi': {
        const outcome = applyMulti(this.tree, operation.parts, author);
        if (outcome.kind === 'committed')
          for (const { change } of outcome.parts) this.#trigger(change, author.stamp);
        return multiBody(outcome);
      }
      case 'create':
      case 'delete':
      case 'setData':
      case 'setACL':
      case 'check': {
        const { result, change } = applyWrite(this.tree, operation, author);
        this.#trigger(change, author.stamp);
        return writeBody(result);
      }
    }
  }

  #trigger(change: TreeChange | undefined, { zxid }: Stamp): void {
    if (change !== undefined) this.watches.trigger(change, zxid);
  }

  #serveSession(
    client: Client,
    xid: number,
    operation: SessionOperation | undefined,
    moment: Moment,
  ): ReplyParts | undefined {
    switch (operation?.kind) {
      case undefined: // Credentials that can't be read: ZooKeeper ends the connection.
        client.disconnect();
        return undefined;
      case 'auth':
        return authenticateClient(client, xid, operation);
      case 'sasl':
        return this.#takeToken(client, xid, operation);
      case 'closeSession':
        return this.#closeByClient(client, xid, moment);
    }
  }

  #takeToken(client: Client, xid: number, { token }: SaslToken): ReplyParts | undefined {
    const { users, required } = this.#options.security;
    if (users === undefined) return { xid, zxid: 0n, code: ERROR_CODES.OK, body: tokenBody(null) };
    const accept = (answer: Buffer) => ({ xid, zxid: 0n, code: ERROR_CODES.OK, body: tokenBody(answer) });
    const nonce = this.#saslNonces.get(client);
    if (nonce === undefined) {
      const first = this.#options.newNonce(); // ZooKeeper doesn't look at the first token.
      this.#saslNonces.set(client, first);
      return accept(challengeOf(first));
    }
    this.#saslNonces.set(client, '');
    const verdict = nonce === '' ? ({ kind: 'refused' } as const) : verdictOn(token, nonce, users);
    switch (verdict.kind) {
      case 'unreadable':
        client.disconnect();
        return undefined;
      case 'refused': {
        const code = required.includes('sasl') ? 'SESSION_CLOSED_REQUIRE_SASL_AUTH' : 'AUTH_FAILED';
        return { xid, zxid: 0n, code: ERROR_CODES[code], body: tokenBody(null), isLast: true };
      }
      case 'accepted':
        client.identities.push({ scheme: 'sasl', id: verdict.username });
        return accept(verdict.token);
    }
  }

  #closeByClient(client: Client, xid: number, moment: Moment): ReplyParts | undefined {
    const { session } = client;
    if (session !== undefined) {
      // It keeps its connection for the answer, and its watches for the deletion of its own nodes.
      this.#clients.delete(session);
      this.closeSession(session, moment);
    }
    if (!this.traits.answersCloseSession) {
      client.disconnect();
      return undefined;
    }
    return { xid, zxid: this.zxid, code: ERROR_CODES.OK, isLast: true };
  }

  #deleteByServer(path: string, stamp: Stamp): void {
    const acl = this.tree.get(path)?.acl ?? OPEN_ACL;
    const parentAcl = this.tree.get(parentOf(path))?.acl ?? OPEN_ACL;
    this.tree.delete(path, stamp);
    this.#trigger({ kind: 'deleted', path, acl, parentAcl }, stamp);
  }

  #nextStamp(timeMs: number): Stamp {
    return { zxid: ++this.zxid, timeMs };
  }
}

function authenticateClient(
  client: Client,
  xid: number,
  { scheme, credentials }: Authentication,
): ReplyParts {
  const identity = provenIdentity(scheme, credentials, client.address);
  if (identity === undefined) return { xid, zxid: 0n, code: ERROR_CODES.AUTH_FAILED, isLast: true };
  const isKnown = client.identities.some(({ scheme: s, id }) => s === identity.scheme && id === identity.id);
  if (!isKnown) client.identities.push(identity);
  return { xid, zxid: 0n, code: ERROR_CODES.OK };
}

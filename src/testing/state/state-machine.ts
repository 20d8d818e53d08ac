import { timingSafeEqual } from 'node:crypto';
import type { Traits } from '../dialect.js';
import { ERROR_CODES, XID } from '../protocol/op-codes.js';
import { Refusal, refuse } from '../protocol/refusal.js';
import { type Body, multiBody, NO_ZXID, noTokenBody, type Reply, writeBody } from '../protocol/replies.js';
import type {
  Authentication,
  ConnectRequest,
  ReadOperation,
  Request,
  SessionOperation,
  WriteOperation,
} from '../protocol/requests.js';
import { authenticate, OPEN_ACL } from './acl.js';
import type { Client } from './client.js';
import { parentOf } from './paths.js';
import { read } from './reads.js';
import { type SessionRecord, SessionTable } from './session-table.js';
import { type Author, applyMulti, applyWrite } from './transactions.js';
import { type Change, Watches } from './watch-table.js';
import { type Stamp, ZnodeTree } from './znode-tree.js';

/** The time of something that happens. */
export interface Moment {
  /** Monotonic, for sessions. */
  readonly nowMs: number;
  /** Milliseconds of the epoch, for stats. */
  readonly timeMs: number;
}

/** What a handshake is answered. */
export type Greeting =
  | { readonly kind: 'accepted'; readonly session: SessionRecord }
  /** There is no such session, or it isn't whoever asks. */
  | { readonly kind: 'refused' }
  /** The client has seen what this server hasn't: it is left without an answer. */
  | { readonly kind: 'ahead' };

export interface KeeperOptions {
  readonly tickMs: number;
  readonly minSessionTimeoutMs: number;
  readonly maxSessionTimeoutMs: number;
  /** The id of the first session; each later one's is one more. */
  readonly firstSessionId: bigint;
  readonly newPassword: () => Buffer;
  readonly traits: Traits;
}

const NEW_SESSION = 0n;

/**
 * What a ZooKeeper server knows and how it changes: nodes, sessions, watches, transactions. A state machine without a
 * clock, a timer or a socket; the time comes with what happens.
 *
 * Every event goes to its watcher before the change that caused it is answered, so a client that is given all in that
 * order sees no later state before the event.
 */
export class StateMachine {
  readonly tree = new ZnodeTree();
  readonly watches: Watches;
  /** Where releases differ, as this server answers. */
  readonly traits: Traits;
  readonly sessions: SessionTable;
  readonly #options: KeeperOptions;
  readonly #clients = new Map<SessionRecord, Client>();
  #nextSessionId: bigint;
  #zxid = 0n;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.traits = options.traits;
    this.watches = new Watches(options.traits);
    this.#nextSessionId = options.firstSessionId;
    this.sessions = new SessionTable(options.tickMs);
  }

  /** The latest transaction's number. */
  get zxid(): bigint {
    return this.#zxid;
  }

  /** The id of the next session. */
  get nextSessionId(): bigint {
    return this.#nextSessionId;
  }

  /** The connection of a session, if it has one. */
  clientOf(session: SessionRecord): Client | undefined {
    return this.#clients.get(session);
  }

  /** Opens a session for a connection, or gives it one that exists, which is taken from the connection that had it. */
  greet(client: Client, request: ConnectRequest, { nowMs }: Moment): Greeting {
    if (request.lastZxid > this.#zxid) return { kind: 'ahead' };
    const { minSessionTimeoutMs, maxSessionTimeoutMs } = this.#options;
    const timeoutMs = Math.max(minSessionTimeoutMs, Math.min(maxSessionTimeoutMs, request.timeoutMs));
    const session =
      request.sessionId === NEW_SESSION ? this.#openSession(timeoutMs, nowMs) : this.#reattach(request);
    if (session === undefined) return { kind: 'refused' };
    session.timeoutMs = timeoutMs;
    this.sessions.touch(session, nowMs);
    client.session = session;
    this.#clients.set(session, client);
    return { kind: 'accepted', session };
  }

  #openSession(timeoutMs: number, nowMs: number): SessionRecord {
    this.#zxid++;
    return this.sessions.open(this.#nextSessionId++, this.#options.newPassword(), timeoutMs, nowMs);
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

  /** A connection is gone. Its watches go with it, its session stays. */
  forget(client: Client): void {
    this.watches.removeAll(client);
    if (client.session !== undefined && this.#clients.get(client.session) === client)
      this.#clients.delete(client.session);
  }

  /**
   * Ends a session: its ephemeral nodes go, the others that watch them are told, and its connection ends. Whether ZooKeeper
   * tells the session itself before that is a race that goes either way: here it never does, so that what a test sees of
   * an expiry is always the same.
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

  /** Ends the sessions whose time is over. */
  expire(moment: Moment): SessionRecord[] {
    const expired = this.sessions.expired(moment.nowMs);
    for (const session of expired) this.closeSession(session, moment);
    return expired;
  }

  /** Deletes the containers that had children and have none any more. */
  sweepContainers({ timeMs }: Moment): void {
    for (const path of this.tree.abandonedContainers()) this.#deleteByServer(path, this.#nextStamp(timeMs));
  }

  /** Carries out a request. `undefined`: ZooKeeper doesn't answer it. */
  execute(client: Client, { xid, type, operation }: Request, moment: Moment): Reply | undefined {
    const isUnknown = type?.name === 'check' && this.traits.checkOnlyInMulti;
    if (type === undefined || isUnknown)
      return { xid, zxid: NO_ZXID, code: ERROR_CODES.UNIMPLEMENTED, isLast: true };
    if (type.name === 'auth' || type.name === 'sasl' || type.name === 'closeSession')
      return this.#serveSession(client, xid, operation as SessionOperation | undefined, moment);
    const { session } = client;
    const isAlive = session !== undefined && this.#clients.get(session) === client;
    if (isAlive) this.sessions.touch(session, moment.nowMs);
    const stamp = type.writes ? this.#nextStamp(moment.timeMs) : undefined;
    const answer = this.#answer(() => {
      if (!isAlive) refuse('SESSION_EXPIRED');
      if (operation === undefined) refuse('MARSHALLING_ERROR');
      if (stamp === undefined) return read(this, operation as ReadOperation, client);
      return this.#write(operation as WriteOperation, {
        sessionId: session.id,
        identities: client.identities,
        stamp,
        traits: this.traits,
      });
    });
    if (answer.code === ERROR_CODES.OK && type.name === 'check') return undefined;
    return { xid: type.name === 'ping' ? XID.ping : xid, zxid: this.#zxid, ...answer };
  }

  #answer(attempt: () => Body | undefined): { readonly code: number; readonly body?: Body | undefined } {
    try {
      return { code: ERROR_CODES.OK, body: attempt() };
    } catch (error) {
      if (error instanceof Refusal) return { code: error.code };
      throw error;
    }
  }

  #write(operation: WriteOperation, author: Author): Body | undefined {
    switch (operation.kind) {
      case 'reconfig':
        return refuse('RECONFIG_DISABLED');
      case 'deleteContainer':
        return refuse('BAD_ARGUMENTS'); // For the server's own use.
      case 'multi': {
        const outcome = applyMulti(this.tree, operation.parts, author);
        if (outcome.kind === 'committed')
          for (const { change } of outcome.parts) this.#announce(change, author.stamp);
        return multiBody(outcome);
      }
      case 'create':
      case 'delete':
      case 'setData':
      case 'setACL':
      case 'check': {
        const { result, change } = applyWrite(this.tree, operation, author);
        this.#announce(change, author.stamp);
        return writeBody(result);
      }
    }
  }

  #announce(change: Change | undefined, { zxid }: Stamp): void {
    if (change !== undefined) this.watches.announce(change, zxid);
  }

  #serveSession(
    client: Client,
    xid: number,
    operation: SessionOperation | undefined,
    moment: Moment,
  ): Reply | undefined {
    switch (operation?.kind) {
      case undefined: // Credentials that can't be read: ZooKeeper ends the connection.
        client.disconnect();
        return undefined;
      case 'auth':
        return authenticateClient(client, xid, operation);
      case 'sasl':
        return { xid, zxid: 0n, code: ERROR_CODES.OK, body: noTokenBody };
      case 'closeSession':
        return this.#closeByClient(client, xid, moment);
    }
  }

  #closeByClient(client: Client, xid: number, moment: Moment): Reply {
    const { session } = client;
    if (session !== undefined) {
      // It keeps its connection for the answer, and its watches for the end of its own nodes.
      this.#clients.delete(session);
      this.closeSession(session, moment);
    }
    return { xid, zxid: this.#zxid, code: ERROR_CODES.OK, isLast: true };
  }

  #deleteByServer(path: string, stamp: Stamp): void {
    const acl = this.tree.get(path)?.acl ?? OPEN_ACL;
    const parentAcl = this.tree.get(parentOf(path))?.acl ?? OPEN_ACL;
    this.tree.delete(path, stamp);
    this.#announce({ kind: 'deleted', path, acl, parentAcl }, stamp);
  }

  #nextStamp(timeMs: number): Stamp {
    return { zxid: ++this.#zxid, timeMs };
  }
}

function authenticateClient(client: Client, xid: number, { scheme, credentials }: Authentication): Reply {
  const identity = authenticate(scheme, credentials, client.address);
  if (identity === undefined) return { xid, zxid: 0n, code: ERROR_CODES.AUTH_FAILED, isLast: true };
  const isKnown = client.identities.some(({ scheme: s, id }) => s === identity.scheme && id === identity.id);
  if (!isKnown) client.identities.push(identity);
  return { xid, zxid: 0n, code: ERROR_CODES.OK };
}

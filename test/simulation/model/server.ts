import { ignore } from '../../../src/platform/async/promises.js';
import type { Timer } from '../../../src/platform/time/clock.js';
import { ERROR_CODES, ErrorReply, XID } from '../../../src/testing/protocol/op-codes.js';
import type { ReplyParts } from '../../../src/testing/protocol/replies.js';
import {
  type ClientRequest,
  type ConnectRequest,
  type ReadOperation,
  readConnectRequest,
  readRequest,
  type WriteOperation,
} from '../../../src/testing/protocol/requests.js';
import { read } from '../../../src/testing/state/answer-reads.js';
import { SessionTable } from '../../../src/testing/state/session-table.js';
import { WireReader } from '../../../src/wire/jute.js';
import type { Machine } from '../machine.js';
import { Pipe } from '../network.js';
import type { ServerConnection } from './connection.js';
import type { Ensemble } from './ensemble.js';
import { Replica } from './replica.js';
import type { Listening } from './socket.js';
import { epochOf, firstZxid, type Transaction } from './transaction.js';

/** The connection between a leader and one of its followers. */
class Peering {
  /** How much of the leader's log the follower has. */
  acknowledged = 0;
  /** How many pings of the leader went unanswered: the leader counts them, and doesn't look at its clock. */
  missed = 0;
  /** The packets that are sent all the time: a ping, and the answer of a follower that has heard of no session. */
  ping: () => void = ignore;
  pong: () => void = ignore;

  constructor(
    readonly leader: Server,
    readonly follower: Server,
    readonly down: Pipe,
    readonly up: Pipe,
  ) {}
}

interface Leading {
  readonly name: 'leading';
  readonly followers: Map<Server, Peering>;
  /** When each session ends unless it is heard of. A new leader begins all of them anew. */
  readonly sessions: SessionTable;
  /** Which server each session is at, as far as this leader has seen. */
  readonly owners: Map<bigint, number>;
  /** The zxid of its newest transaction. */
  zxid: bigint;
}

interface Following {
  readonly name: 'following';
  readonly peering: Peering;
  /** The sessions that were heard of since the last report to the leader. */
  readonly touched: Set<bigint>;
  /** When it last heard of the leader. */
  heardAt: number;
}

type Role = { readonly name: 'looking' } | Leading | Following;

type Proposal =
  | { readonly kind: 'open-session'; readonly sessionId: bigint; readonly timeoutMs: number }
  | { readonly kind: 'close-session'; readonly sessionId: bigint }
  | { readonly kind: 'write'; readonly sessionId: bigint; readonly operation: WriteOperation }
  | { readonly kind: 'refused'; readonly sessionId: bigint; readonly code: number };

const PASSWORD = Buffer.alloc(16, 7);
const NEW_SESSION = 0n;
const NO_SESSIONS: readonly bigint[] = [];
const LOOKING: Role = { name: 'looking' };

/**
 * One server of the ensemble: it leads, follows, or looks for a leader. It answers its clients from the part of the log that
 * it has applied, and sends their writes to the leader.
 *
 * As in ZooKeeper, a server that has lost the others goes on for a while: a follower answers reads and pings until it
 * hasn't heard of its leader for `syncLimit` ticks, and a leader even takes reconnecting sessions until it sees that it
 * has lost its quorum. A leader hears of its followers' sessions every half tick, but not of sessions that only write.
 */
export class Server implements Listening {
  readonly index: number;
  machine: Machine;
  replica: Replica;
  readonly #ensemble: Ensemble;
  readonly #connections = new Set<ServerConnection>();
  /** On disk: outlives the process. */
  log: Transaction[] = [];
  #committed = 0;
  #applied = 0;
  epoch = 0;
  #role: Role = LOOKING;
  #lookingSince = 0;
  #timer: Timer | undefined;

  constructor(index: number, ensemble: Ensemble) {
    this.index = index;
    this.#ensemble = ensemble;
    this.machine = ensemble.newMachine(index);
    this.replica = new Replica(ensemble.witness.applied);
    this.#look();
  }

  get isUp(): boolean {
    return !this.machine.isDead;
  }

  get role(): Role['name'] {
    return this.#role.name;
  }

  /** Whether it could be elected, or follow, right now. */
  get isLooking(): boolean {
    return this.isUp && !this.machine.isFrozen && this.#role.name === 'looking';
  }

  get committed(): number {
    return this.#committed;
  }

  /** The watches that clients have left behind, in the processes that are up. */
  get watches(): number {
    return this.isUp ? this.replica.watches.count : 0;
  }

  /** The process dies; its system closes its connections. */
  kill(): void {
    this.#leaveRole();
    this.machine.kill();
  }

  /** Replaces the content of its disk while it doesn't run: by that log, all committed, and nothing else. */
  replaceData(log: readonly Transaction[]): void {
    this.log = [...log];
    this.epoch = epochOf(log.at(-1)?.zxid ?? 0n);
    this.replica = new Replica(this.#ensemble.witness.applied);
    this.#committed = log.length;
    this.#applied = 0;
    this.#applyCommitted();
  }

  /** The part of the log on its disk that it knows to be committed. */
  get committedLog(): readonly Transaction[] {
    return this.log.slice(0, this.#committed);
  }

  /** It starts again with what is on its disk. */
  restart(): void {
    if (this.isUp) return;
    this.machine = this.#ensemble.newMachine(this.index);
    this.#look();
  }

  // ---- looking for a leader ----

  #look(): void {
    this.#role = LOOKING;
    this.#lookingSince = this.machine.now();
    this.#timer?.clear();
    this.#lookAgain();
  }

  #lookAgain(): void {
    this.#timer = this.machine.after(this.#ensemble.random.between(50, 400), () => {
      if (this.#role.name !== 'looking') return;
      const leader = this.#ensemble.leaderFor(this);
      if (leader !== undefined) leader.take(this);
      else if (this.machine.now() - this.#lookingSince > 200) this.#ensemble.elect(this);
      if (this.#role.name === 'looking') this.#lookAgain();
    });
  }

  /** How good a leader it would be: a server that has seen more comes first. */
  isBehind(other: Server): boolean {
    if (this.epoch !== other.epoch) return this.epoch < other.epoch;
    const [mine, others] = [this.log.at(-1)?.zxid ?? 0n, other.log.at(-1)?.zxid ?? 0n];
    return mine === others ? this.index < other.index : mine < others;
  }

  /** Called when it is elected. Its log counts as committed as soon as its followers have it, too. */
  lead(epoch: number, followers: readonly Server[]): void {
    const { tickMs } = this.#ensemble.times;
    const role: Leading = {
      name: 'leading',
      followers: new Map(),
      sessions: new SessionTable(tickMs),
      owners: new Map(),
      zxid: firstZxid(epoch),
    };
    this.epoch = epoch;
    this.#role = role;
    this.#committed = this.log.length;
    this.#applyCommitted();
    for (const [id, timeoutMs] of this.replica.sessions)
      role.sessions.open(id, PASSWORD, timeoutMs, this.machine.now());
    for (const follower of followers) this.take(follower);
    this.#timer?.clear();
    this.#leadOn(role);
  }

  get isLeadingWithQuorum(): boolean {
    return this.#role.name === 'leading' && this.#role.followers.size > 0;
  }

  /** A server that was looking follows from now on. It gets the present log, and all later transactions. */
  take(follower: Server): void {
    const role = this.#role;
    if (role.name !== 'leading') return;
    const { there, back } = this.#ensemble.routeBetween(this, follower);
    const peering = new Peering(this, follower, new Pipe(there), new Pipe(back));
    peering.ping = this.#toFollower(peering, (each) => each.#pinged(peering));
    peering.pong = this.#toLeader(peering, (leader) => leader.#touchAll(peering, NO_SESSIONS));
    role.followers.set(follower, peering);
    follower.#follow(peering, this.log, this.#committed, this.epoch);
  }

  #follow(peering: Peering, log: readonly Transaction[], committed: number, epoch: number): void {
    const common = this.log[this.#committed - 1];
    if (common !== log[this.#committed - 1]) throw new Error('the model lost a committed transaction');
    this.log = [...log];
    this.epoch = epoch;
    this.#timer?.clear();
    const role: Following = { name: 'following', peering, touched: new Set(), heardAt: this.machine.now() };
    this.#role = role;
    this.#committed = committed;
    this.#applyCommitted();
    const { length } = this.log; // The leader's grows while this is on its way.
    peering.up.send(this.#toLeader(peering, (leader) => leader.#acknowledged(peering, length)));
    this.#followOn(role);
  }

  // ---- leading ----

  #leadOn(role: Leading): void {
    const { tickMs, syncLimit } = this.#ensemble.times;
    let half = 0;
    const beat = () => {
      this.#timer = this.machine.after(tickMs / 2, () => {
        if (this.#role !== role) return;
        half++;
        for (const peering of role.followers.values()) {
          const isLost = ++peering.missed > 2 * syncLimit;
          peering.down.send(
            isLost ? this.#toFollower(peering, (follower) => follower.#giveUp()) : peering.ping,
          );
          if (isLost) role.followers.delete(peering.follower);
        }
        if (role.followers.size === 0) return this.#giveUp();
        this.#dropSilent();
        if (half % 2 === 0) this.#expire(role);
        beat();
      });
    };
    beat();
  }

  /** Ends the sessions whose time is over. Each end is a transaction like all others, and needs a quorum. */
  #expire(role: Leading): void {
    for (const session of role.sessions.expired(this.machine.now())) {
      this.#ensemble.witness.count('ensemble: sessions expired');
      role.sessions.remove(session);
      this.#propose(role, { kind: 'close-session', sessionId: session.id }, undefined);
    }
  }

  #propose(role: Leading, proposal: Proposal, origin: Transaction['origin']): void {
    const transaction = Object.assign(proposal, {
      zxid: ++role.zxid,
      timeMs: this.#ensemble.timeMs,
      origin,
    });
    this.log.push(transaction);
    const length = this.log.length;
    for (const peering of role.followers.values())
      peering.down.send(
        this.#toFollower(peering, (follower) => follower.#proposed(peering, transaction, length)),
      );
  }

  #acknowledged(peering: Peering, length: number): void {
    peering.acknowledged = length;
    peering.missed = 0;
    const { followers } = this.#role as Leading;
    let most = 0;
    for (const { acknowledged } of followers.values()) most = Math.max(most, acknowledged);
    // With itself, one other server of three is a quorum.
    if (most <= this.#committed) return;
    this.#committed = most;
    for (const each of followers.values())
      each.down.send(this.#toFollower(each, (follower) => follower.#learned(most)));
    this.#applyCommitted();
  }

  /** A request of a client of any server. */
  #submit(server: number, connection: ServerConnection, request: ClientRequest): void {
    const role = this.#role as Leading;
    const { sessionId } = connection;
    const origin = { server, connection };
    const session = role.sessions.get(sessionId);
    const owner = role.owners.get(sessionId);
    if (session === undefined)
      return this.#propose(role, { kind: 'refused', sessionId, code: ERROR_CODES.SESSION_EXPIRED }, origin);
    if (owner !== undefined && owner !== server)
      this.#ensemble.witness.count('ensemble: requests of moved sessions');
    if (owner !== undefined && owner !== server)
      return this.#propose(role, { kind: 'refused', sessionId, code: ERROR_CODES.SESSION_MOVED }, origin);
    role.owners.set(sessionId, server);
    if (request.operation?.kind === 'closeSession') {
      role.sessions.remove(session);
      return this.#propose(role, { kind: 'close-session', sessionId }, origin);
    }
    this.#propose(role, { kind: 'write', sessionId, operation: request.operation as WriteOperation }, origin);
  }

  #openSession(server: number, connection: ServerConnection, timeoutMs: number): void {
    const role = this.#role as Leading;
    const { sessionId } = connection;
    role.sessions.open(sessionId, PASSWORD, timeoutMs, this.machine.now());
    role.owners.set(sessionId, server);
    this.#propose(role, { kind: 'open-session', sessionId, timeoutMs }, { server, connection });
  }

  /** An operator deletes a node. */
  deleteAsOperator(path: string): void {
    this.#proposeAsStranger({ kind: 'delete', path, version: -1 });
  }

  /** A client that takes no part in the election writes a node's data. */
  writeAsStranger(path: string, data: Buffer): void {
    this.#proposeAsStranger({ kind: 'setData', path, data, version: -1 });
  }

  #proposeAsStranger(operation: WriteOperation): void {
    if (this.#role.name === 'leading')
      this.#propose(this.#role, { kind: 'write', sessionId: 0n, operation }, undefined);
  }

  /** A client has come to a server with an existing session. From now on the session is at that server. */
  #revalidate(server: number, sessionId: bigint): boolean {
    const role = this.#role as Leading;
    const session = role.sessions.get(sessionId);
    if (session === undefined) return false;
    role.sessions.touch(session, this.machine.now());
    role.owners.set(sessionId, server);
    return true;
  }

  #touchAll(peering: Peering, sessions: Iterable<bigint>): void {
    peering.missed = 0;
    for (const id of sessions) this.#touch(id);
  }

  #touch(id: bigint): void {
    const role = this.#role;
    if (role.name === 'following') role.touched.add(id);
    if (role.name !== 'leading') return;
    const session = role.sessions.get(id);
    if (session !== undefined) role.sessions.touch(session, this.machine.now());
  }

  // ---- following ----

  /** Goes on following, and gives up once it hasn't heard of its leader for too long. It looks when that may be so. */
  #followOn(role: Following): void {
    const { tickMs, syncLimit } = this.#ensemble.times;
    const leftMs = () => role.heardAt + syncLimit * tickMs - this.machine.now();
    this.#timer = this.machine.after(leftMs(), () => {
      if (this.#role !== role) return;
      if (leftMs() <= 0) this.#giveUp();
      else this.#followOn(role);
    });
  }

  #pinged(peering: Peering): void {
    const role = this.#role as Following;
    this.#dropSilent();
    if (role.touched.size === 0) return peering.up.send(peering.pong);
    const touched = [...role.touched];
    role.touched.clear();
    peering.up.send(this.#toLeader(peering, (leader) => leader.#touchAll(peering, touched)));
  }

  #proposed(peering: Peering, transaction: Transaction, length: number): void {
    this.log.push(transaction);
    if (this.log.length !== length) throw new Error('the model lost a proposal');
    peering.up.send(this.#toLeader(peering, (leader) => leader.#acknowledged(peering, length)));
  }

  #learned(committed: number): void {
    this.#committed = Math.max(this.#committed, Math.min(committed, this.log.length));
    this.#applyCommitted();
  }

  /** Handles the leader's packets, as long as it follows by this connection. */
  #toFollower(peering: Peering, task: (follower: Server) => void): () => void {
    const { follower } = peering;
    const { machine } = follower;
    return () =>
      machine.receive(() => {
        const role = follower.#role;
        if (role.name !== 'following' || role.peering !== peering) return;
        role.heardAt = machine.now();
        task(follower);
      });
  }

  /** Handles a follower's packets, as long as it leads by this connection. */
  #toLeader(peering: Peering, task: (leader: Server) => void): () => void {
    const { leader } = peering;
    const { machine } = leader;
    return () =>
      machine.receive(() => {
        const role = leader.#role;
        if (role.name === 'leading' && role.followers.get(peering.follower) === peering) task(leader);
      });
  }

  /** Neither leads nor follows any more: its clients have to look for another server. */
  #giveUp(): void {
    this.#leaveRole();
    this.#look();
  }

  #leaveRole(): void {
    const role = this.#role;
    if (role.name === 'leading')
      for (const peering of role.followers.values())
        peering.down.send(this.#toFollower(peering, (follower) => follower.#giveUp()));
    if (role.name === 'following')
      role.peering.up.send(
        this.#toLeader(role.peering, (leader) => void (leader.#role as Leading).followers.delete(this)),
      );
    for (const connection of [...this.#connections]) this.#drop(connection);
    this.#role = LOOKING;
    this.#timer?.clear();
  }

  // ---- clients ----

  accept(connection: ServerConnection): void {
    if (this.#role.name === 'looking') connection.disconnect();
    else this.#connections.add(connection);
  }

  hangUp(connection: ServerConnection): void {
    connection.phase = 'closed';
    this.#forget(connection);
  }

  #drop(connection: ServerConnection): void {
    connection.disconnect();
    this.#forget(connection);
  }

  #forget(connection: ServerConnection): void {
    this.#connections.delete(connection);
    this.replica.watches.removeAll(connection);
  }

  receive(connection: ServerConnection, bytes: Buffer): void {
    if (!this.#connections.has(connection)) return;
    connection.heardAt = this.machine.now();
    connection.packets.push(bytes);
    for (;;) {
      const packet = connection.phase === 'closed' ? undefined : connection.packets.next();
      if (packet === undefined) return;
      if (connection.phase === 'new') this.#greet(connection, readConnectRequest(new WireReader(packet)));
      else this.#serve(connection, readRequest(new WireReader(packet)));
    }
  }

  #greet(connection: ServerConnection, request: ConnectRequest): void {
    // A client that has seen more than this server is left without an answer.
    if (request.lastZxid > this.replica.zxid) {
      this.#ensemble.witness.count('ensemble: clients that were ahead of a server');
      return this.#drop(connection);
    }
    const { tickMs } = this.#ensemble.times;
    const timeoutMs = Math.max(2 * tickMs, Math.min(20 * tickMs, request.timeoutMs));
    connection.phase = 'greeting';
    if (request.sessionId === NEW_SESSION) {
      connection.sessionId = this.#ensemble.newSessionId(this.index);
      this.#ensemble.witness.shown(connection.sessionId, connection.process, true);
      return this.#atLeader((leader) => leader.#openSession(this.index, connection, timeoutMs));
    }
    const { sessionId } = request;
    this.#ensemble.witness.shown(sessionId, connection.process, false);
    for (const other of this.#connections) if (other.sessionId === sessionId) this.#drop(other);
    connection.sessionId = sessionId;
    const role = this.#role;
    if (role.name === 'leading')
      return this.#greeted(connection, this.#revalidate(this.index, sessionId), timeoutMs);
    if (role.name !== 'following') return;
    const { peering } = role;
    peering.up.send(
      this.#toLeader(peering, (leader) => {
        const lives = leader.#revalidate(this.index, sessionId);
        peering.down.send(
          this.#toFollower(peering, (follower) => follower.#greeted(connection, lives, timeoutMs)),
        );
      }),
    );
  }

  #greeted(connection: ServerConnection, lives: boolean, timeoutMs: number): void {
    if (connection.phase !== 'greeting') return;
    connection.greet(connection.sessionId, lives ? timeoutMs : 0, PASSWORD);
    if (!lives) this.#drop(connection);
    else this.#ensemble.witness.count('ensemble: sessions taken');
  }

  /** Runs something at the leader: at once if this server is the leader. */
  #atLeader(task: (leader: Server) => void): void {
    const role = this.#role;
    if (role.name === 'leading') task(this);
    if (role.name === 'following') role.peering.up.send(this.#toLeader(role.peering, task));
  }

  #serve(connection: ServerConnection, request: ClientRequest): void {
    const { type } = request;
    if (type === undefined || request.operation === undefined) throw new Error('no client sends that');
    this.#touch(connection.sessionId);
    const isWrite = type.writes || type.name === 'closeSession';
    connection.waiting.push({ request, isWrite });
    if (isWrite) this.#atLeader((leader) => leader.#submit(this.index, connection, request));
    else if (connection.waiting.length === 1) this.#answerReads(connection);
  }

  /** Reads, and pings, wait until the writes before them have been carried out here. */
  #answerReads(connection: ServerConnection): void {
    for (
      let next = connection.waiting[0];
      next !== undefined && !next.isWrite;
      next = connection.waiting[0]
    ) {
      connection.waiting.shift();
      connection.answer(this.#read(connection, next.request));
    }
  }

  #read(connection: ServerConnection, { xid, operation }: ClientRequest): ReplyParts {
    const { zxid } = this.replica;
    const isPing = operation?.kind === 'ping';
    try {
      const body = read(this.replica, operation as ReadOperation, connection);
      return { xid: isPing ? XID.ping : xid, zxid, code: ERROR_CODES.OK, body };
    } catch (error) {
      if (error instanceof ErrorReply) return { xid, zxid, code: error.code };
      throw error;
    }
  }

  #applyCommitted(): void {
    while (this.#applied < this.#committed) {
      const transaction = this.log[this.#applied++] as Transaction;
      const { origin } = transaction;
      const isHere = origin?.server === this.index;
      const outcome = this.replica.apply(transaction, isHere);
      if (this.#role.name === 'leading' && transaction.kind === 'close-session')
        this.#role.owners.delete(transaction.sessionId);
      if (isHere && this.#connections.has(origin.connection))
        this.#answer(origin.connection, transaction, outcome);
      if (transaction.kind === 'close-session') this.#dropSession(transaction.sessionId);
    }
  }

  #answer(
    connection: ServerConnection,
    transaction: Transaction,
    outcome: Pick<ReplyParts, 'code' | 'body'>,
  ): void {
    if (transaction.kind === 'open-session') return this.#greeted(connection, true, transaction.timeoutMs);
    const asked = connection.waiting.shift();
    if (asked === undefined) throw new Error('the model answers without a request');
    // ZooKeeper closes such a connection; some paths in it answer with the error.
    if (outcome.code === ERROR_CODES.SESSION_MOVED && this.#ensemble.random.chance(0.5))
      return this.#drop(connection);
    connection.answer({ xid: asked.request.xid, zxid: transaction.zxid, ...outcome });
    this.#answerReads(connection);
  }

  /** Closes a connection that wasn't heard of for its session's timeout, even if the session has moved to another server. */
  #dropSilent(): void {
    const now = this.machine.now();
    for (const connection of this.#connections)
      if (now - connection.heardAt > connection.timeoutMs) this.#drop(connection);
  }

  #dropSession(sessionId: bigint): void {
    for (const connection of this.#connections)
      if (connection.sessionId === sessionId) this.#drop(connection);
  }
}

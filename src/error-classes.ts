// Longer than 500 lines: the catalogue of all errors, which is read and searched as one; no class in it holds logic.
import { ConclaveError } from './base-errors.js';
import { mark } from './public-class/instance-brand.js';
import { describe, show } from './public-class/shown-in-messages.js';

/** No server accepted the session within `connectTimeoutMs`. */
export class ConnectTimeoutError extends ConclaveError {
  readonly code = 'CONNECT_TIMEOUT';
  override readonly retryable = true;
}

/**
 * No server serves the session: the session has tried all servers once without success. It keeps retrying.
 * `cause` is the error of the last try.
 */
export class NoServerError extends ConclaveError {
  readonly code = 'NO_SERVER';
  override readonly retryable = true;

  /**
   * @param address - the address of the last try, the server whose name couldn't be looked up, or the function that gave no value, as
   *   `session.tls()`
   * @param forMs - how long the session has had no server, in milliseconds
   * @param isOwn - whether the cause is of a function or a mechanism of the application, and not of a server
   */
  constructor(
    readonly address: string,
    readonly forMs: number,
    cause: unknown,
    isOwn = false,
  ) {
    const since = forMs < 1000 ? '' : ` for ${Math.round(forMs / 1000)} s`;
    const why = describe(cause);
    const where = why.includes(address) ? '' : `, from ${address}`;
    // A refusal says itself what to do.
    const isAnswer = isOwn || cause instanceof AuthenticationError;
    const advice = `still retrying${isAnswer ? '' : '; are the servers up and reachable?'}`;
    super(`no server accepted the session${since}: ${why}${where}; ${advice}`, { cause });
  }
}

/**
 * The connection was lost before the reply: the servers may or may not have carried out the request.
 * Repeat only requests that may be carried out twice.
 */
export class ConnectionLossError extends ConclaveError {
  readonly code = 'CONNECTION_LOSS';
  override readonly retryable = true;
  /**
   * The size of the request in bytes, if the server ended the connection, and no larger request was lost with it. A server ends the
   * connection at a request that is larger than its `jute.maxbuffer`. `undefined` otherwise.
   */
  readonly requestBytes: number | undefined;

  constructor(message: string, options: ErrorOptions & { readonly requestBytes?: number | undefined } = {}) {
    const { requestBytes, ...rest } = options;
    super(message, rest);
    this.requestBytes = requestBytes;
  }
}

/**
 * The servers ended the connection each time that they got this request. They do so with a request that is
 * larger than their `jute.maxbuffer`, without telling the reason. Conclave has given up, since each further
 * try would cost the session another connection. Write less data, or raise `jute.maxbuffer` on all servers.
 */
export class RequestTooLargeError extends ConclaveError {
  readonly code = 'REQUEST_TOO_LARGE';

  /**
   * @param bytes - the size of the request
   * @param losses - how many connections it has cost
   */
  constructor(
    readonly bytes: number,
    readonly losses: number,
    cause: unknown,
  ) {
    super(
      `a request of ${bytes} bytes was lost ${losses} times, each time because the server ended the connection: it is probably larger than the jute.maxbuffer of the servers. Write less data, or raise jute.maxbuffer on all servers (${describe(cause)})`,
      { cause },
    );
  }
}

/** No reply came within the operation's time. If `sent` is true, the servers may have carried out the request. */
export class OperationTimeoutError extends ConclaveError {
  readonly code = 'OPERATION_TIMEOUT';
  override readonly retryable = true;

  constructor(
    message: string,
    /** Whether the request was sent: then the servers may have carried it out. */
    readonly sent: boolean,
  ) {
    super(message);
  }
}

/** The servers have ended the session. Its ephemeral nodes are gone, and with them every lock and term of the session. */
export class SessionExpiredError extends ConclaveError {
  readonly code = 'SESSION_EXPIRED';
}

/**
 * The servers are at an earlier transaction than this process has seen: their data was lost, or restored from a backup. Fencing
 * tokens and term numbers may come a second time. So a resource that remembers the highest token refuses new leaders until you
 * reset it: see docs/fencing.md. Conclave reports each
 * reset once. A process that has seen nothing of the earlier data can't notice a reset.
 */
export class EnsembleResetError extends ConclaveError {
  readonly code = 'ENSEMBLE_RESET';

  /**
   * @param seenZxid - the transaction that this process has seen
   * @param foundZxid - the servers' transaction now, or the one that they give for the same node: lower than `seenZxid`
   */
  constructor(
    readonly seenZxid: bigint,
    readonly foundZxid: bigint,
  ) {
    super(
      `the ensemble is at transaction ${hex(foundZxid)}, but this process has already seen ${hex(seenZxid)}. ` +
        "The servers' data was lost, or restored from a backup: fencing tokens and terms start again. Reset the highest token that your fenced resources remember",
    );
  }
}

/** This process has closed the session. */
export class SessionClosedError extends ConclaveError {
  readonly code = 'SESSION_CLOSED';
}

/**
 * A server refused the credentials of `auth` or `sasl`, or it demands that clients authenticate. If no server of a whole round has taken
 * the first session of its owner, the session has ended. Later it goes on, and this is the `cause` of `NoServerError`.
 *
 * It also comes when the servers know no identity of a session with `sasl`, and so refuse to create nodes for it: the message names the
 * setting.
 */
export class AuthenticationError extends ConclaveError {
  readonly code = 'AUTHENTICATION_FAILED';
}

/**
 * Every client may write the node of a lock or an election, delete its children, or delete the node itself while it has none.
 * The session's own nodes are for their creator only, though. So any client could end a leader's term, or make terms start again
 * from 1. The message names the node and its access list, and has the line for `zkCli.sh` that protects it. If you want the node to
 * be open, set `allowUnprotectedPaths`.
 */
export class UnprotectedPathError extends ConclaveError {
  readonly code = 'UNPROTECTED_PATH';

  /**
   * @param path - the node whose access list is too open, below the session's chroot
   * @param why - in words: what every client may do, by which entry, and how to change that
   */
  constructor(
    readonly path: string,
    why: string,
  ) {
    super(why);
  }
}

/**
 * This session waits for the end of a node that it may not read, for example the node of the contender ahead of it in a queue.
 * ZooKeeper sends a client no events of nodes that it may not read, so the wait would never end. Let all contenders read each
 * other's nodes: give them the same `auth`, or set `access`.
 */
export class UnreadableNodeError extends ConclaveError {
  readonly code = 'UNREADABLE_NODE';

  /** @param path - the node, as the servers know it */
  constructor(
    readonly path: string,
    options?: ErrorOptions,
  ) {
    super(
      `this session may not read ${path}, so the servers would never notify it when that node is deleted: give all contenders the same credentials, or give READ to all of them, as with access: [{ scheme: 'auth', id: '', permissions: 31 }, { scheme: 'world', id: 'anyone', permissions: 1 }]`,
      options,
    );
  }
}

const THROTTLED_OP = -127;

/**
 * A server answered with an error code. Some codes have subclasses of their own.
 *
 * It is `retryable` if its code is `THROTTLED_OP`: the server had too many requests, and has refused this one unseen. Your call then rejects
 * after a pause of 0.1 to 0.2 s, so you may repeat it at once.
 */
export class ZooKeeperError extends ConclaveError {
  readonly code: string;
  override readonly retryable: boolean;

  /**
   * @param serverCode - the number on the wire, also for codes that this version doesn't know
   * @param codeName - its name in ZooKeeper's sources, `UNKNOWN` if there is none
   * @param operation - the name of the request
   * @param path - the path of the request, if it had one
   */
  constructor(
    readonly serverCode: number,
    codeName: string,
    readonly operation: string,
    readonly path?: string,
  ) {
    super(`${operation}${path === undefined ? '' : ` ${path}`}: ${codeName} (${serverCode})`);
    this.code = codeName;
    this.retryable = serverCode === THROTTLED_OP;
  }
}

/** The node doesn't exist. */
export class NoNodeError extends ZooKeeperError {}
/** The node exists already. */
export class NodeExistsError extends ZooKeeperError {}
/** The node's version isn't the expected one: another client wrote in between. */
export class BadVersionError extends ZooKeeperError {}

/** A later leader has entered the fence of a resource, so nothing was written there. Stop the work: the term is over. */
export class FencedOutError extends ConclaveError {
  readonly code = 'FENCED_OUT';

  constructor(
    /** The name of the fence: of a `PostgresFence` its resource, of a `RedisFence` its key. */
    readonly resource: string,
    /** The token that was refused. */
    readonly token: bigint,
  ) {
    super(`fenced out of ${resource}: a leader with a higher token than ${token} has entered`);
  }
}

/** The contender has lost its place in the queue: its node was deleted, by another client or with its session. */
export class NodeLostError extends ConclaveError {
  readonly code = 'NODE_LOST';
  override readonly retryable = true;
}

/** The election's queue has no such candidate, or the candidate belongs to another client, which can't be asked to lead. */
export class NoCandidateError extends ConclaveError {
  readonly code = 'NO_CANDIDATE';

  /** @param candidate - the id that was asked for */
  constructor(readonly candidate: string) {
    super(`there is no candidate ${show(candidate)} that can be asked to lead`);
  }
}

/** The leader didn't step down: it refused, or gave no answer in time. */
export class RevocationRefusedError extends ConclaveError {
  readonly code = 'REVOCATION_REFUSED';

  /** @param answered - `true`: the leader refused; `false`: it gave no answer */
  constructor(
    /** The leader's id. */
    readonly leader: string,
    readonly answered: boolean,
  ) {
    super(`${leader} did not step down: ${answered ? 'it refused' : 'it did not answer in time'}`);
  }
}

/** The lock wasn't acquired within `timeoutMs` milliseconds. The caller no longer has a place in the queue. */
export class LockTimeoutError extends ConclaveError {
  readonly code = 'LOCK_TIMEOUT';
  override readonly retryable = true;
}

/** A semaphore has another number of seats than this process was given. Give all processes the same number. */
export class SeatsMismatchError extends ConclaveError {
  readonly code = 'SEATS_MISMATCH';

  /**
   * @param given - the number that was given to this process
   * @param agreed - the number in the node; `undefined` if the node holds no number of seats
   */
  constructor(
    /** The semaphore's path. */
    readonly path: string,
    readonly given: number,
    readonly agreed: number | undefined,
  ) {
    const found = agreed === undefined ? 'no number of seats' : `${agreed} seats`;
    super(`${path} has ${found}, but this process was given ${given}: give all processes the same number`);
  }
}

/**
 * Why a hold on a lock ended. `node-deleted`: the server reported that the hold's node is gone. That doesn't show whether an
 * operator deleted it or the session has just expired; the session's own `expired` event does, a moment later. `refused`: the servers refuse
 * to prove the hold's node, because an access list was changed for example.
 */
export type HoldEndReason =
  | 'released'
  | 'lease-expired'
  | 'session-expired'
  | 'session-closed'
  | 'node-deleted'
  | 'refused';

/** This process no longer holds the lock. */
export class LockLostError extends ConclaveError {
  readonly code = 'LOCK_LOST';

  constructor(
    /** Why it ended. */
    readonly reason: HoldEndReason,
    options?: ErrorOptions,
  ) {
    super(`the lock is no longer held: ${reason}`, options);
  }
}

/**
 * The work of a shard threw or rejected: `run`, `prepare`, or a promise given to `waitUntil`. The `cause` is the thrown value. Or `prepare`
 * hasn't settled within 30 s; the `cause` says so.
 */
export class ShardFailedError extends ConclaveError {
  readonly code = 'SHARD_FAILED';

  /** @param attempt - how often in a row `run` has failed; `undefined` for other work */
  constructor(
    /** The shard's id. */
    readonly shard: string,
    cause: unknown,
    readonly attempt?: number,
  ) {
    const often = attempt === undefined ? '' : ` (${attempt} in a row)`;
    super(`the work of shard ${shard} failed${often}: ${describe(cause)}`, { cause });
  }
}

/** A group of shards has other shards than this process was given. Give all members the same shards. */
export class ShardsMismatchError extends ConclaveError {
  readonly code = 'SHARDS_MISMATCH';

  /** @param given - the shards that this process was given, in words. @param found - the shards by the group's node, in words */
  constructor(
    /** The group's path. */
    readonly path: string,
    given: string,
    found: string,
  ) {
    super(`${path} has ${found}, but this process was given ${given}: give all members the same shards`);
  }
}

/**
 * The leader's work was still running when the lease ended (`over` is `lease`): it may have acted while a new leader led. Or it was still
 * running when the grace of a revocation ended (`grace`): the lease lasts, so no other leader can act yet. If the event loop was
 * blocked, or the process stood still, past the lease and the takeover delay, the error comes when the process goes on, also of
 * work that ends at once then.
 */
export class WorkOverrunError extends ConclaveError {
  readonly code = 'WORK_OVERRUN';

  /** The time that had ended. */
  readonly over: 'lease' | 'grace';
  /** The shard's id, if it is the work of a shard. */
  readonly shard?: string;

  /** @param term - its number */
  constructor(
    readonly term: number,
    { over, shard }: { readonly over: 'lease' | 'grace'; readonly shard?: string },
  ) {
    const of = shard === undefined ? '' : ` of shard ${shard}`;
    const what = over === 'lease' ? 'its lease' : 'the grace of a revocation';
    super(`the work of term ${term}${of} was still running when ${what} ended`);
    this.over = over;
    if (shard !== undefined) this.shard = shard;
  }
}

/**
 * The thread of the option `watchdog` couldn't be started, or has ended. The term goes on as without that option: nothing ends the
 * process if its main thread is blocked past the lease, and the blocked work goes on afterwards. The elector starts no other watchdog, but
 * the next session of a supervisor does. If your work isn't fenced, stop the elector or end the process.
 */
export class WatchdogFailedError extends ConclaveError {
  readonly code = 'WATCHDOG_FAILED';

  /** @param cause - why the thread didn't start, or what ended it */
  constructor(cause: unknown) {
    super(
      `the watchdog no longer runs, so nothing ends this process if its main thread is blocked past a lease: ${describe(cause)}`,
      { cause },
    );
  }
}

/** The reason why a stop isn't done yet. */
export interface StopWait {
  /**
   * The stop waits for `work`: the leader's work of term `term`, as long as that takes; for `cleanup`: the supervisor's clean-up
   * hook, for `cleanupTimeoutMs` at most; for `successor`: the candidate that leads next prepares, for `waitForPreparedMs` at most; or
   * for `servers`: answers of servers, for a limited time.
   */
  readonly by: 'work' | 'cleanup' | 'successor' | 'servers';
  /** In words: the work that still runs or is still to do. */
  readonly what: string;
  /** The term, if the stop waits for its work. */
  readonly term?: number;
}

const STOP_ADVICE: Record<StopWait['by'], string> = {
  work:
    'nothing was released, because the work may still act: let it end soon after `term.signal` aborts. ' +
    'Call stop() again to wait for it. Or end the process: another candidate leads when the lease is over',
  cleanup: 'call stop() again to wait for it, for `cleanupTimeoutMs` at most',
  successor: 'call stop() again to wait for it, for `waitForPreparedMs` at most',
  servers: 'call stop() again to wait for them, for a limited time',
};

/**
 * A `stop()` isn't done in time. If a call rejects with this error, the time was its `timeoutMs`. If it comes as an `error` event, the
 * time was a lease and `waitForPreparedMs`. The stop goes on. It releases nothing before the work that still runs has settled.
 */
export class StopPendingError extends ConclaveError {
  readonly code = 'STOP_PENDING';
  override readonly retryable = true;
  /** The stop waits for the leader's `work`, for the clean-up hook (`cleanup`), or for the `servers`. */
  readonly waitsFor: StopWait['by'];
  /** The term, if the stop waits for its work. */
  readonly term: number | undefined;

  /** @param waitedMs - how long the stop has taken so far, in milliseconds */
  constructor(
    readonly waitedMs: number,
    { by, what, term }: StopWait,
  ) {
    super(`stop() has waited for ${waitedMs} ms: ${what}; ${STOP_ADVICE[by]}`);
    this.waitsFor = by;
    this.term = term;
  }
}

/** The leader's work threw or rejected. The `cause` is the thrown value. */
export class LeadError extends ConclaveError {
  readonly code = 'LEAD_FAILED';

  constructor(
    /** The term's number. */
    readonly term: number,
    cause: unknown,
  ) {
    super(`the work of term ${term} failed: ${describe(cause)}`, { cause });
  }
}

/**
 * `prepare` threw or rejected while the candidate waited: the `cause` is the thrown value. Conclave calls it again after 1, 2, 4 … 60 s,
 * and at once if the candidate is elected.
 */
export class PrepareError extends ConclaveError {
  readonly code = 'PREPARE_FAILED';
  override readonly retryable = true;

  constructor(
    /** 1 for the first attempt in this place in the queue. */
    readonly attempt: number,
    cause: unknown,
  ) {
    super(`prepare failed at attempt ${attempt}: ${describe(cause)}`, { cause });
  }
}

/** A listener threw or rejected. The `cause` is the thrown value. The other listeners were still called. */
export class ListenerError extends ConclaveError {
  readonly code = 'LISTENER_FAILED';

  constructor(
    /** The event's name. */
    readonly event: string,
    cause: unknown,
  ) {
    super(`a listener of '${event}' failed: ${describe(cause)}`, { cause });
  }
}

/** One attempt of the clean-up hook failed: it threw (`cause`), or took longer than `cleanupTimeoutMs` milliseconds. */
export class CleanupAttemptError extends ConclaveError {
  readonly code = 'CLEANUP_ATTEMPT_FAILED';
  override readonly retryable = true;

  constructor(
    /** 1 for the first attempt after a loss. */
    readonly attempt: number,
    cause: unknown,
  ) {
    super(`the clean-up hook failed at attempt ${attempt}: ${describe(cause)}`, { cause });
  }
}

/**
 * The clean-up hook didn't succeed, within its attempts or before the supervisor had to stop. So the state that the lost term or session
 * left behind is still there. The supervisor has stopped, so that it doesn't lead with dirty state.
 */
export class CleanupFailedError extends ConclaveError {
  readonly code = 'CLEANUP_FAILED';

  constructor(
    /** How often the hook was called. */
    readonly attempts: number,
    cause: unknown,
  ) {
    const times = attempts === 1 ? 'once' : `${attempts} times, the last time`;
    const advice = 'clean up by hand, then create a new supervisor or restart the process';
    super(
      `the clean-up hook failed ${times} with: ${describe(cause)}; the clean-up is outstanding, so the supervisor has stopped: ${advice}`,
      { cause },
    );
  }
}

/** A worker failed too often, had to be killed, or got no place in its election in time. `slot` is its number. */
export class WorkerFailedError extends ConclaveError {
  readonly code = 'WORKER_FAILED';

  constructor(
    /** The worker's number, from 0. */
    readonly slot: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

for (const [name, type] of Object.entries({
  ConnectTimeoutError,
  ConnectionLossError,
  RequestTooLargeError,
  OperationTimeoutError,
  SessionExpiredError,
  SessionClosedError,
  AuthenticationError,
  UnprotectedPathError,
  ZooKeeperError,
  NoNodeError,
  NodeExistsError,
  BadVersionError,
  NodeLostError,
  NoCandidateError,
  RevocationRefusedError,
  LockTimeoutError,
  SeatsMismatchError,
  ShardsMismatchError,
  ShardFailedError,
  LockLostError,
  WorkOverrunError,
  WatchdogFailedError,
  LeadError,
  PrepareError,
  ListenerError,
  CleanupAttemptError,
  CleanupFailedError,
  WorkerFailedError,
  EnsembleResetError,
  FencedOutError,
  NoServerError,
  UnreadableNodeError,
  StopPendingError,
})) {
  mark(type, name);
}

function hex(zxid: bigint): string {
  return `0x${zxid.toString(16)}`;
}

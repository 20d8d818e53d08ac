import type { Session, TransactionPart } from 'conclave';
import type { TcpProxy } from '../../support/faults/tcp-proxy.mjs';
import type { startFakeServer } from '../../support/wire/fake-server.mjs';

/** The events of a client's session: its connection is lost, it has a connection again, it is over. */
export type ClientEvent = 'suspended' | 'resumed' | 'expired';

export interface OpenOptions {
  /** @default 30000 */
  readonly sessionTimeoutMs?: number;
  /** `user:password`, for the digest scheme: only the creator may use the nodes. @default open to all clients */
  readonly credentials?: string;
  /** How often the bare client repeats unanswered requests. Conclave has no such option. @default 0 */
  readonly retries?: number;
}

export interface CreateOptions {
  readonly mode?: 'persistent' | 'ephemeral' | 'container';
  readonly data?: Buffer;
}

/** A node's stat as a client returns it, with the fields that scenarios look at. Their types are one of the demands. */
export interface ClientStat {
  readonly czxid: unknown;
  readonly version: number;
}

/** An ephemeral node of a client. */
export interface Held {
  readonly node: string;
  /** Whether the client now considers the node its own. */
  isHeld(): boolean;
}

/** A client with a session: Conclave, or the bare client. */
export interface Client {
  create(path: string, options?: CreateOptions): Promise<string>;
  exists(path: string): Promise<ClientStat | undefined>;
  /** Reads, and notifies of the next change, unless `signal` has aborted by then and the client can forget a watcher. */
  getData(path: string, onChange?: () => void, signal?: AbortSignal): Promise<Buffer>;
  setData(path: string, data: Buffer): Promise<unknown>;
  commit(parts: readonly TransactionPart[]): Promise<unknown>;
  /** Creates an ephemeral node at `path` or below it, in the way in which the client holds something. */
  hold(path: string): Promise<Held>;
  /** Takes a place in a queue, which is a sequential node below `path`, by the client's own way to survive a lost reply. */
  enqueue(path: string): Promise<unknown>;
  /** The highest number that it gives a request. */
  readonly lastXid: number;
  /** Numbers requests from here on. */
  countRequestsFrom(xid: number): Promise<void>;
  once(event: ClientEvent, listener: () => void): void;
  /** Settles when the session is closed, as far as the client reports it. */
  close(): Promise<void>;
}

/** A client on its way to its session. */
export interface Opening {
  readonly opened: Promise<Client>;
  /** Tells the client, at any time, that it isn't needed. */
  giveUp(): void;
  /** Asks for the connection once more, as an application may by mistake. */
  again(): Promise<Client>;
}

/** One of the two clients that every scenario runs on. */
export interface Subject {
  begin(connectString: string, options?: OpenOptions): Opening;
}

/** The surroundings of the client in a scenario. Everything that they open ends with the scenario, or keeps no process alive. */
export interface World {
  /** The servers, without a proxy in between. */
  readonly connectString: string;
  /** A path that no other scenario uses. Nothing is there yet. */
  readonly path: string;
  /** Opens a client of the subject. It is closed when the scenario has ended. */
  open(connectString: string, options?: OpenOptions): Promise<Client>;
  begin(connectString: string, options?: OpenOptions): Opening;
  /** A proxy in front of the servers. */
  proxy(): Promise<TcpProxy>;
  fakeServer: typeof startFakeServer;
  /** Resolves when the servers have no such node any more, by default at `path`. Rejects with `otherwise` after `ms`. */
  gone(ms: number, otherwise: string, node?: string): Promise<void>;
  /**
   * Another client, whose session and connection have no faults. It has seen everything that was done before
   * the call, at any server. Its ephemeral nodes go at the end.
   */
  observer(): Promise<Session>;
}

export interface Scenario {
  /** The row's number, and a letter where a row has several scenarios. */
  readonly id: string;
  /** The row's name, and the demand, as a sentence. */
  readonly name: string;
  /** The last output of the bare client's process. */
  readonly broken: RegExp;
  /** Throws if the demand isn't met. */
  readonly run: (world: World) => Promise<void>;
}

import type { Session, TransactionPart } from 'conclave';
import type { TcpProxy } from '../../support/faults/tcp-proxy.mjs';
import type { startFakeServer } from '../../support/wire/fake-server.mjs';

/** What happens to a client's session, reported to its listeners: the connection is gone, there is one again, it is over. */
export type ClientEvent = 'suspended' | 'resumed' | 'expired';

export interface OpenOptions {
  /** @default 30000 */
  readonly sessionTimeoutMs?: number;
  /** `user:password`, shown by digest: what is created is its creator's alone. @default open to all clients */
  readonly credentials?: string;
  /** How often the bare client repeats what wasn't answered. Conclave has no such option. @default 0 */
  readonly retries?: number;
}

export interface CreateOptions {
  readonly mode?: 'persistent' | 'ephemeral' | 'container';
  readonly data?: Buffer;
}

/** A node's stat as a client gives it. The fields that scenarios look at; what type they have is one of the demands. */
export interface ClientStat {
  readonly czxid: unknown;
  readonly version: number;
}

/** An ephemeral node of a client's. */
export interface Held {
  readonly node: string;
  /** Whether the client takes the node for its own now. */
  isHeld(): boolean;
}

/** A client with a session, Conclave's or the bare one. */
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
  /** Numbers requests from here on. */
  countRequestsFrom(xid: number): Promise<void>;
  once(event: ClientEvent, listener: () => void): void;
  /** Settles when the session is closed, as far as the client reports it. */
  close(): Promise<void>;
}

/** A client on its way to its session. */
export interface Opening {
  readonly opened: Promise<Client>;
  /** Says at any time that the client isn't wanted. */
  giveUp(): void;
  /** Asks for the connection once more, as an application may by mistake. */
  again(): Promise<Client>;
}

/** One of the two clients that every scenario runs on. */
export interface Subject {
  begin(connectString: string, options?: OpenOptions): Opening;
}

/** What surrounds the client in a scenario. Whatever it opens ends with the scenario, or doesn't keep the process. */
export interface World {
  /** The servers, without any link in between. */
  readonly connectString: string;
  /** A path that no other scenario uses. Nothing is there yet. */
  readonly path: string;
  /** Opens a client of the subject's, which is closed when the scenario has ended. */
  open(connectString: string, options?: OpenOptions): Promise<Client>;
  begin(connectString: string, options?: OpenOptions): Opening;
  /** A proxy in front of the servers. */
  proxy(): Promise<TcpProxy>;
  fakeServer: typeof startFakeServer;
  /** Resolves when the servers have no such node any more, by default at `path`. Else throws `otherwise` after `ms`. */
  gone(ms: number, otherwise: string, node?: string): Promise<void>;
  /**
   * Another client, with a session and a connection that nothing happens to, and that has seen all that was done before
   * the call, at whichever server. Its ephemeral nodes go at the end.
   */
  observer(): Promise<Session>;
}

export interface Scenario {
  /** The row's number, and a letter where a row has several scenarios. */
  readonly id: string;
  /** The row's name, and what is demanded, as a sentence. */
  readonly name: string;
  /** What the bare client's process says at its end. */
  readonly broken: RegExp;
  /** Throws if the demand doesn't hold. */
  readonly run: (world: World) => Promise<void>;
}

import type { WatchNotice } from '../../../src/testing/protocol/acl-and-stat.js';
import {
  type ReplyParts,
  writeConnectReply,
  writeEvent,
  writeReply,
} from '../../../src/testing/protocol/replies.js';
import { type ClientRequest, PacketSplitter } from '../../../src/testing/protocol/requests.js';
import type { Client, SessionRecord } from '../../../src/testing/state/session-table.js';
import { WireWriter } from '../../../src/wire/jute.js';
import type { Machine } from '../machine.js';
import type { Wire } from './socket.js';

const writer = new WireWriter();

/** A request on its way through a server: answered when it has been carried out and those before it were answered. */
export interface Waiting {
  readonly request: ClientRequest;
  /** It was forwarded to the leader. Its outcome is known when it comes back in the log. */
  readonly isWrite: boolean;
}

/** A client's connection, as the server at its end has it. */
export class ServerConnection implements Client {
  readonly identities = [{ scheme: 'ip', id: '10.0.0.9' }];
  readonly address = '10.0.0.9';
  readonly packets = new PacketSplitter();
  /** The requests that aren't answered yet, in their order. */
  readonly waiting: Waiting[] = [];
  session: SessionRecord | undefined;
  sessionId = 0n;
  timeoutMs = Number.POSITIVE_INFINITY;
  /** When the latest packet came, by the server's clock. */
  heardAt = 0;
  phase: 'new' | 'greeting' | 'greeted' | 'closed' = 'new';
  readonly #wire: Wire;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /** The process at the other end. */
  get process(): Machine {
    return this.#wire.client.process;
  }

  notify(event: WatchNotice): void {
    this.#send(writeEvent(writer, event));
  }

  greet(sessionId: bigint, timeoutMs: number, password: Buffer): void {
    const record =
      timeoutMs === 0 ? undefined : { id: sessionId, password, timeoutMs, expiresAtMs: Number.NaN };
    this.phase = 'greeted';
    this.timeoutMs = timeoutMs;
    this.#send(writeConnectReply(writer, record, true));
  }

  answer(reply: ReplyParts): void {
    this.#send(writeReply(writer, reply));
  }

  /** The server ends it: what was sent before still arrives. */
  disconnect(): void {
    if (this.phase === 'closed') return;
    this.phase = 'closed';
    this.#wire.closeAtServer();
  }

  #send(bytes: Buffer): void {
    if (this.phase !== 'closed') this.#wire.toClient(bytes);
  }
}

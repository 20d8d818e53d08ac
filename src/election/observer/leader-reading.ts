import { DATA, FollowedNode } from '../../session/observers/followed-node.js';
import type { ReadingListener } from '../../session/observers/observer.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import { holderOf, type LeaderSnapshot, snapshotOf } from '../record/read-at-once.js';

/** Reads who leads an election, with one session, and again whenever that may have changed: its record, and the node that this names. */
export class LeaderReading {
  readonly #session: Session;
  readonly #path: string;
  readonly #listener: ReadingListener<LeaderSnapshot>;
  readonly #record: FollowedNode<NodeData>;
  #election: NodeData | undefined;
  #holder: { readonly name: string; readonly node: FollowedNode<NodeData>; data?: NodeData } | undefined;

  constructor(session: Session, path: string, listener: ReadingListener<LeaderSnapshot>) {
    this.#session = session;
    this.#path = path;
    this.#listener = listener;
    const record = {
      read: (node: NodeData) => this.#recorded(node),
      missing: () => this.#recorded(undefined),
      failed: listener.onFailed,
    };
    this.#record = new FollowedNode(session, path, DATA, record, { whenMissing: 'wait' });
  }

  stop(): void {
    this.#record.stop();
    this.#holder?.node.stop();
  }

  #recorded(election: NodeData | undefined): void {
    this.#election = election;
    const name = election && holderOf(election)?.entry.node;
    if (name !== this.#holder?.name) {
      this.#holder?.node.stop();
      this.#holder = name === undefined ? undefined : { name, node: this.#follow(name) };
    }
    this.#report();
  }

  #follow(name: string): FollowedNode<NodeData> {
    const listener = {
      read: (data: NodeData) => this.#readHolder(data),
      missing: () => this.#readHolder(undefined),
      failed: this.#listener.onFailed,
    };
    return new FollowedNode(this.#session, `${this.#path}/${name}`, DATA, listener, { whenMissing: 'end' });
  }

  /** The transaction that has changed or deleted the node may have written the record, too. So the record is read again first. */
  #readHolder(data: NodeData | undefined): void {
    const isFirst = this.#holder?.data === undefined;
    if (data === undefined) this.#holder = undefined;
    else if (this.#holder !== undefined) this.#holder.data = data;
    if (isFirst) this.#report();
    else if (!this.#record.isStale) this.#record.again();
  }

  #report(): void {
    if (this.#record.isStale || this.#holder?.node.isStale === true) return;
    this.#listener.onRead(snapshotOf(this.#election, this.#holder?.data));
  }
}

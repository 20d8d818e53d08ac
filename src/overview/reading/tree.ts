import { ignore } from '../../platform/async/promises.js';
import { DATA, FollowedNode } from '../../session/observers/followed-node.js';
import { ifThere } from '../../session/operations.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import type { TreeListener } from '../model/overview-model.js';
import { LIMITS } from '../model/read-limits.js';
import type { ServerClock } from '../model/server-clock.js';
import { ReadSlots } from './paced-reads.js';
import type { Reading } from './reader-resources.js';
import { Branch } from './subtree.js';

/** Follows everything below a root with one session, until that session ends or `stop` is called. */
export class Tree implements Reading {
  readonly session: Session;
  readonly slots = new ReadSlots(LIMITS.reads);
  readonly listener: TreeListener;
  readonly serverClock: ServerClock;
  readonly #root: string;
  readonly #limits = new Map<string, string>();
  #nodes = 0;
  #outstanding = 0;
  #hasReadAll = false;
  #hasFailed = false;
  #state:
    | { readonly name: 'following'; readonly branch: Branch }
    | { readonly name: 'waiting'; readonly root: FollowedNode<NodeData> }
    | { readonly name: 'stopped' };

  constructor(session: Session, root: string, listener: TreeListener, serverClock: ServerClock) {
    this.session = session;
    this.#root = root;
    this.listener = listener;
    this.serverClock = serverClock;
    this.#state = this.#follow();
  }

  stop(): void {
    const state = this.#state;
    this.#state = { name: 'stopped' }; // First, so that unfinished reads don't count as missing nodes.
    if (state.name === 'waiting') state.root.stop();
    if (state.name === 'following') state.branch.stop();
  }

  #follow(): { readonly name: 'following'; readonly branch: Branch } {
    return { name: 'following', branch: new Branch(this, this.#root, 0, () => this.#waitForRoot()) };
  }

  #waitForRoot(): void {
    if (this.#state.name !== 'following') return;
    this.#state.branch.stop();
    const again = () => {
      root.stop();
      this.#state = this.#follow();
    };
    const listener = { read: again, missing: ignore, failed: again };
    const root = new FollowedNode(this.session, this.#root, DATA, listener, { whenMissing: 'wait' });
    this.#state = { name: 'waiting', root };
  }

  begin(): () => void {
    this.#outstanding++;
    let isDone = false;
    return () => {
      if (isDone) return;
      isDone = true;
      this.#outstanding--;
      if (this.#outstanding > 0 || this.#hasReadAll || this.#isVoid) return;
      this.#hasReadAll = true;
      this.listener.readAll();
    };
  }

  /** Reads have failed, or are about to fail, so their results are unknown. */
  get #isVoid(): boolean {
    return this.#state.name === 'stopped' || this.session.ended.aborted || this.#hasFailed;
  }

  read(path: string): Promise<NodeData | undefined> {
    const read = () => this.session.retryUntilAnswered(() => this.session.getData(path));
    return ifThere(this.slots.run(read));
  }

  refused(path: string, error: unknown): void {
    if (this.#isVoid) return;
    if (isNoAuth(error)) {
      this.limit(path, `${path}: this client may not read it`);
      this.listener.refused(path);
    } else {
      this.#hasFailed = true;
      this.listener.failed(error);
    }
  }

  count(by: 1 | -1, path: string): boolean {
    if (by === 1 && this.#nodes >= LIMITS.nodes) {
      this.limit(this.#root, `${path} and others: more than ${LIMITS.nodes} nodes below ${this.#root}`);
      return false;
    }
    this.#nodes += by;
    return true;
  }

  limit(path: string, sentence: string | undefined): void {
    if (this.#limits.get(path) === sentence || this.#isVoid) return;
    if (sentence === undefined) this.#limits.delete(path);
    else this.#limits.set(path, sentence);
    this.listener.limited([...this.#limits.values()]);
  }
}

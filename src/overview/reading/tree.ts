import { ignore } from '../../platform/async/promises.js';
import { childPath } from '../../platform/zookeeper-paths.js';
import type { Reply } from '../../session/connection/reply.js';
import { CHILDREN, DATA, FollowedNode } from '../../session/observers/followed-node.js';
import type { ReadingListener } from '../../session/observers/observer.js';
import { ifThere } from '../../session/operations.js';
import type { ChildNames } from '../../session/protocol/child-names.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import { hasSession, type NodeData } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { furtherNames, kindOf, type NodeKind, OTHER } from '../model/node-kind.js';
import type { OverviewModel } from '../model/overview-model.js';
import { LIMITS } from '../model/read-limits.js';
import type { ServerClock } from '../model/server-clock.js';
import { ElectionReading } from './election-reading.js';
import { GroupFollower } from './group-follower.js';
import { LockReading } from './queue-reading.js';
import { listingPauseMs, type Reading, ReadSlots } from './reader-resources.js';

/** The key of the note that nodes are left out. The other notes have the path of a node as their key. */
const ALL_NODES = 'all nodes';

/** Follows everything below a root with one session, until that session ends or `stop` is called. */
export class Tree implements Reading {
  readonly session: Session;
  readonly slots = new ReadSlots(LIMITS.reads);
  readonly model: OverviewModel;
  readonly serverClock: ServerClock;
  readonly #root: string;
  readonly #listener: ReadingListener<void>;
  readonly #limits = new Map<string, string>();
  #nodes = 0;
  #outstanding = 0;
  #hasReadAll = false;
  #hasFailed = false;
  #state:
    | { readonly name: 'following'; readonly branch: Branch }
    | { readonly name: 'waiting'; readonly root: FollowedNode<NodeData> }
    | { readonly name: 'stopped' };

  constructor(
    session: Session,
    root: string,
    model: OverviewModel,
    serverClock: ServerClock,
    listener: ReadingListener<void>,
  ) {
    this.session = session;
    this.#root = root;
    this.model = model;
    this.serverClock = serverClock;
    this.#listener = listener;
    model.begin();
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
      this.model.readAll();
      this.#listener.onRead();
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
      this.model.refused(path);
    } else {
      this.#hasFailed = true;
      this.#listener.onFailed(error);
    }
  }

  count(by: 1 | -1, path: string): boolean {
    if (by === 1 && this.#nodes >= LIMITS.nodes) {
      this.limit(ALL_NODES, `${path} and others: more than ${LIMITS.nodes} nodes below ${this.#root}`);
      return false;
    }
    this.#nodes += by;
    if (this.#nodes === 0) this.limit(ALL_NODES, undefined); // The root is gone. Until then the nodes that were left out stay out.
    return true;
  }

  limit(path: string, sentence: string | undefined): void {
    if (this.#limits.get(path) === sentence || this.#isVoid) return;
    if (sentence === undefined) this.#limits.delete(path);
    else this.#limits.set(path, sentence);
    this.model.limited([...this.#limits.values()]);
  }
}

/** Reads a node of one kind. The branch itself reads the list of its children. */
interface KindReading {
  listed?(kind: NodeKind, node: NodeData, names: readonly string[], zxid: bigint): void;
  stop(): void;
}

const NOTHING: KindReading = { stop: ignore };
const SYSTEM = '/zookeeper'; // The servers' own nodes.

/**
 * A node below the root that may be, or lead to, elections, locks or groups. A watch reports when its children come and go. A group has no
 * such watch, because its parts have watches of their own. A node with other data and no children has none, either.
 */
export class Branch {
  readonly #reading: Reading;
  readonly #path: string;
  readonly #depth: number;
  readonly #onGone: () => void;
  /** Called when the node was read, or turned out to be of no interest. */
  readonly #done: () => void;
  readonly #isCounted: boolean;
  readonly #branches = new Map<string, Branch>();
  #children: FollowedNode<Reply<ChildNames>> | undefined;
  #kind: NodeKind['name'] = 'other';
  #kindReading: KindReading = NOTHING;
  /** The newest listing: an older one whose node was read later is of no use. */
  #listing: Reply<ChildNames> | undefined;
  #hasStopped = false;

  constructor(reading: Reading, path: string, depth: number, onGone: () => void) {
    this.#reading = reading;
    this.#path = path;
    this.#depth = depth;
    this.#onGone = onGone;
    this.#done = reading.begin();
    this.#isCounted = reading.count(1, path);
    if (this.#isCounted)
      void this.#begin(); // Never rejects.
    else this.#done();
  }

  stop(): void {
    if (this.#hasStopped) return;
    this.#hasStopped = true;
    this.#children?.stop();
    this.#kindReading.stop();
    for (const branch of this.#branches.values()) branch.stop();
    if (this.#isCounted) this.#reading.count(-1, this.#path);
    this.#reading.limit(this.#path, undefined);
    this.#done();
  }

  async #begin(): Promise<void> {
    try {
      const node = await this.#reading.read(this.#path);
      if (this.#hasStopped) return;
      if (node === undefined) return this.#gone();
      // An ephemeral node has no children, and a node with other data isn't a lock that waits for its first contender.
      if (hasSession(node.stat) || isForeignLeaf(node)) return this.#done();
      const { session, slots } = this.#reading;
      const listener = {
        read: (listing: Reply<ChildNames>) => void this.#listed(listing), // Never rejects.
        missing: () => this.#gone(),
        failed: (error: unknown) => this.#failed(error),
      };
      const options = { whenMissing: 'end', slots, pauseMs: listingPauseMs } as const;
      this.#children = new FollowedNode(session, this.#path, CHILDREN, listener, options);
    } catch (error) {
      this.#failed(error);
    }
  }

  async #listed(listing: Reply<ChildNames>): Promise<void> {
    this.#listing = listing;
    try {
      const node = await this.#reading.read(this.#path); // No watch: each change that matters comes with a change of the children.
      if (this.#hasStopped || this.#listing !== listing) return;
      if (node === undefined) return this.#gone();
      this.#look(node, listing);
    } catch (error) {
      this.#failed(error);
    }
  }

  #look(node: NodeData, { value, zxid }: Reply<ChildNames>): void {
    const names = value.strings();
    const { data, stat } = node;
    const former = this.#reading.model.formerKindOf(this.#path);
    const kind = kindOf({ data, version: stat.version, names }, former);
    this.#become(kind);
    this.#kindReading.listed?.(kind, node, names, zxid);
    this.#follow(kind, names);
    this.#done();
  }

  #become({ name }: NodeKind): void {
    if (this.#kind === name) return;
    this.#kindReading.stop();
    if (name === 'other') this.#reading.model.removed(this.#path);
    this.#kind = name;
    this.#kindReading = this.#make(name);
    if (name !== 'group') return;
    this.#children?.stop();
    this.#children = undefined;
  }

  #make(name: NodeKind['name']): KindReading {
    switch (name) {
      case 'group':
        return new GroupFollower(this.#reading, this.#path, () => this.#gone());
      case 'election':
        return new ElectionReading(this.#reading, this.#path);
      case 'lock':
      case 'read-write':
      case 'semaphore':
        return new LockReading(this.#reading, this.#path);
      case 'other':
        return NOTHING;
    }
  }

  #follow(kind: NodeKind, names: readonly string[]): void {
    const further = furtherNames(kind, names);
    const isTooDeep = further.length > 0 && this.#depth >= LIMITS.depth;
    const areTooMany = further.length > LIMITS.children;
    this.#reading.limit(this.#path, sentenceOf(this.#path, isTooDeep, areTooMany && further.length));
    const followed = new Set(isTooDeep || areTooMany ? [] : further);
    for (const [name, branch] of this.#branches) {
      if (followed.has(name)) continue;
      this.#branches.delete(name);
      branch.stop();
      if (!names.includes(name)) this.#removed(branch);
    }
    for (const name of followed) {
      const path = childPath(this.#path, name);
      if (this.#branches.has(name) || path === SYSTEM) continue;
      const branch: Branch = new Branch(this.#reading, path, this.#depth + 1, () => {
        if (this.#branches.get(name) !== branch) return;
        this.#branches.delete(name);
        branch.stop();
        this.#removed(branch);
      });
      this.#branches.set(name, branch);
    }
  }

  #removed(branch: Branch): void {
    for (const below of branch.#branches.values()) this.#removed(below);
    this.#reading.model.removed(branch.#path);
  }

  #gone(): void {
    if (this.#hasStopped) return;
    this.#removed(this);
    this.#onGone();
    this.#done();
  }

  #failed(error: unknown): void {
    if (this.#hasStopped) return;
    this.#reading.refused(this.#path, error);
    this.#done();
  }
}

function isForeignLeaf({ data, stat }: NodeData): boolean {
  if (data.length === 0 || stat.numChildren > 0) return false;
  return kindOf({ data, version: stat.version, names: [] }, OTHER).name === 'other';
}

function sentenceOf(path: string, isTooDeep: boolean, children: number | false): string | undefined {
  if (isTooDeep) return `below ${path}: deeper than ${LIMITS.depth} nodes below the root`;
  if (children === false) return undefined;
  return `below ${path}: ${children} children that are in no queue, more than ${LIMITS.children}`;
}

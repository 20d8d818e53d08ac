import { NoNodeError } from '../../errors.js';
import { nextTick } from '../../platform/time/timers.js';
import { queueOf } from '../../queue/names-and-order.js';
import { DATA, FollowedNode, type FollowedNodeListener } from '../../session/observers/followed-node.js';
import type { ReadingListener } from '../../session/observers/observer.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import { hasSession, type NodeData } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { parseMember, parseOwned } from '../stored/data-formats.js';
import type { GroupPaths } from '../stored/group-paths.js';
import { ShardList } from '../stored/shard-list.js';
import { GroupView } from './group-view.js';

/**
 * Reads a group of shards with one session, and watches it: its node, the queue of its members, and what each of them publishes. A change
 * of the members takes one listing, and two reads for each one that is new; a change of what one owns one read.
 */
export class GroupReading {
  readonly #session: Session;
  readonly #paths: GroupPaths;
  readonly #listener: ReadingListener<GroupView>;
  readonly #view = new GroupView();
  readonly #group: FollowedNode<NodeData>;
  readonly #queue: FollowedNode<NodeData>;
  /** The members' publications, by the names of the members' nodes. */
  readonly #publications = new Map<string, FollowedNode<NodeData>>();
  /** The paths of those nodes of the group and of its members that weren't read yet. */
  readonly #unread: Set<string>;
  #listing: Promise<void> | undefined;
  #isListingDue = false;
  #isReportDue = false;
  #hasRefused = false;
  #hasStopped = false;

  constructor(session: Session, paths: GroupPaths, listener: ReadingListener<GroupView>) {
    this.#session = session;
    this.#paths = paths;
    this.#listener = listener;
    this.#unread = new Set([paths.group, paths.members]);
    const failed = (error: unknown) => this.#failed(error);
    this.#group = this.#followNode(paths.group, {
      read: ({ data }) => this.#readGroup(data),
      missing: () => this.#readGroup(undefined),
      failed,
    });
    this.#queue = this.#followNode(paths.members, {
      read: () => this.#listSoon(),
      missing: () => this.#listed([]),
      failed,
    });
  }

  stop(): void {
    this.#hasStopped = true;
    for (const node of [this.#group, this.#queue, ...this.#publications.values()]) node.stop();
  }

  #followNode(path: string, listener: FollowedNodeListener<NodeData>): FollowedNode<NodeData> {
    return new FollowedNode(this.#session, path, DATA, listener, { whenMissing: 'wait' });
  }

  #failed(error: unknown): void {
    if (!this.#hasStopped) this.#listener.onFailed(error);
  }

  /** @param data - `undefined`: there is no group. Without data it is being made */
  #readGroup(data: Buffer | undefined): void {
    this.#unread.delete(this.#paths.group);
    this.#view.listed(data && ShardList.parse(data));
    this.#changed();
  }

  #listSoon(): void {
    this.#isListingDue = true;
    this.#listing ??= this.#list();
  }

  /** Never rejects. */
  async #list(): Promise<void> {
    try {
      while (this.#isListingDue && !this.#hasStopped) {
        this.#isListingDue = false;
        const listing = () => this.#session.listChildren(this.#paths.members);
        const names = await this.#session.retryUntilAnswered(listing);
        if (!this.#hasStopped) this.#listed(queueOf(names.strings()).map(({ node }) => node));
      }
    } catch (error) {
      if (!(error instanceof NoNodeError)) this.#failed(error); // Else the watch tells that there are no members.
    } finally {
      this.#listing = undefined;
    }
  }

  #listed(nodes: readonly string[]): void {
    this.#unread.delete(this.#paths.members);
    const listed = new Set(nodes);
    for (const [node, publication] of this.#publications) {
      if (listed.has(node)) continue;
      publication.stop();
      this.#publications.delete(node);
      for (const path of this.#pathsOf(node)) this.#unread.delete(path);
      this.#view.left(node);
    }
    for (const node of nodes) if (!this.#publications.has(node)) this.#follow(node);
    this.#changed();
  }

  #follow(node: string): void {
    this.#view.came(node);
    const [path, published] = this.#pathsOf(node);
    this.#unread.add(path).add(published);
    const publication = this.#followNode(published, {
      read: ({ data, stat }) => this.#published(node, parseOwned(data) ?? [], stat.mzxid),
      missing: () => {
        if (!this.#unread.has(published)) this.#listSoon(); // Its session may be over, which nothing else tells.
        this.#published(node, [], 0n);
      },
      failed: (error) => {
        if (!isNoAuth(error)) return this.#failed(error);
        this.#refused(error);
        this.#published(node, [], 0n);
      },
    });
    this.#publications.set(node, publication);
    void this.#meet(node, path, publication); // Never rejects.
  }

  #pathsOf(node: string): [member: string, publication: string] {
    return [`${this.#paths.members}/${node}`, this.#paths.ownedOf(node)];
  }

  #published(node: string, numbers: readonly number[], zxid: bigint): void {
    this.#unread.delete(this.#paths.ownedOf(node));
    this.#view.published(node, numbers, zxid);
    this.#changed();
  }

  async #meet(node: string, path: string, publication: FollowedNode<NodeData>): Promise<void> {
    const isCurrent = () => !this.#hasStopped && this.#publications.get(node) === publication;
    try {
      const { data, stat } = await this.#session.retryUntilAnswered(() => this.#session.getData(path));
      // A node that goes with no session would stay forever.
      if (isCurrent() && hasSession(stat)) this.#view.introduced(node, parseMember(data));
    } catch (error) {
      if (!isCurrent()) return;
      if (error instanceof NoNodeError) this.#listSoon();
      else if (isNoAuth(error)) this.#refused(error);
      else return this.#failed(error);
    }
    this.#unread.delete(path);
    this.#changed();
  }

  #refused(error: unknown): void {
    if (this.#hasRefused || this.#hasStopped) return;
    this.#hasRefused = true;
    this.#listener.onRefused(error);
  }

  #changed(): void {
    if (this.#isReportDue) return;
    this.#isReportDue = true;
    // Once for what comes within a turn of the event loop. Later, too, a member that is new is shown together with what it owns.
    nextTick(() => {
      this.#isReportDue = false;
      if (!this.#hasStopped && this.#unread.size === 0) this.#listener.onRead(this.#view);
    });
  }
}

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

/** The first reads of one member, and the watch of its publication. */
interface Followed {
  readonly publication: FollowedNode<NodeData>;
  isIntroduced: boolean;
  isPublished: boolean;
}

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
  /** By the names of the members' nodes. */
  readonly #members = new Map<string, Followed>();
  /** What was read once: the group's node, and the list of its members. */
  #isGroupRead = false;
  #isListed = false;
  #listing: Promise<void> | undefined;
  #isListingDue = false;
  #isReportDue = false;
  #hasRefused = false;
  #hasStopped = false;

  constructor(session: Session, paths: GroupPaths, listener: ReadingListener<GroupView>) {
    this.#session = session;
    this.#paths = paths;
    this.#listener = listener;
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
    for (const node of [this.#group, this.#queue]) node.stop();
    for (const { publication } of this.#members.values()) publication.stop();
  }

  #followNode(path: string, listener: FollowedNodeListener<NodeData>): FollowedNode<NodeData> {
    return new FollowedNode(this.#session, path, DATA, listener, { whenMissing: 'wait' });
  }

  #failed(error: unknown): void {
    if (!this.#hasStopped) this.#listener.onFailed(error);
  }

  /** @param data - `undefined`: there is no group. Without data it is being made */
  #readGroup(data: Buffer | undefined): void {
    this.#isGroupRead = true;
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
    this.#isListed = true;
    const listed = new Set(nodes);
    for (const [node, { publication }] of this.#members) {
      if (listed.has(node)) continue;
      publication.stop();
      this.#members.delete(node);
      this.#view.left(node);
    }
    for (const node of nodes) if (!this.#members.has(node)) this.#follow(node);
    this.#changed();
  }

  #follow(node: string): void {
    this.#view.came(node);
    const member: Followed = {
      isIntroduced: false,
      isPublished: false,
      publication: this.#followNode(this.#paths.ownedOf(node), {
        read: ({ data, stat }) => this.#published(node, parseOwned(data) ?? [], stat.mzxid),
        missing: () => {
          // Its session may be over, which nothing else tells.
          if (this.#members.get(node)?.isPublished) this.#listSoon();
          this.#published(node, [], 0n);
        },
        failed: (error) => {
          if (!isNoAuth(error)) return this.#failed(error);
          this.#refused(error);
          this.#published(node, [], 0n);
        },
      }),
    };
    this.#members.set(node, member);
    void this.#meet(node, member); // Never rejects.
  }

  #published(node: string, numbers: readonly number[], zxid: bigint): void {
    const member = this.#members.get(node);
    if (member === undefined) return;
    member.isPublished = true;
    this.#view.published(node, numbers, zxid);
    this.#changed();
  }

  async #meet(node: string, member: Followed): Promise<void> {
    const isCurrent = () => !this.#hasStopped && this.#members.get(node) === member;
    const path = `${this.#paths.members}/${node}`;
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
    member.isIntroduced = true;
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
    // Once for what comes within a turn of the event loop.
    nextTick(() => {
      this.#isReportDue = false;
      if (!this.#hasStopped && this.#hasReadAll()) this.#listener.onRead(this.#view);
    });
  }

  /** Later, too: a member that is new is shown together with what it owns. */
  #hasReadAll(): boolean {
    const members = [...this.#members.values()];
    return (
      this.#isGroupRead && this.#isListed && members.every((each) => each.isIntroduced && each.isPublished)
    );
  }
}

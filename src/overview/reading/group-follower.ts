import { candidateIdOf } from '../../election/candidates/candidate.js';
import { parseRecord } from '../../election/record/election-record.js';
import { DATA, FollowedNode } from '../../session/observers/followed-node.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import type { NodeData } from '../../session/protocol/multi-and-stats.js';
import { GroupReading } from '../../shards/observer/group-reading.js';
import type { GroupView } from '../../shards/observer/group-view.js';
import { parsePins } from '../../shards/stored/data-formats.js';
import { GroupPaths } from '../../shards/stored/group-paths.js';
import type { Reading } from './reader-resources.js';

type Pins = ReadonlyMap<string, string>;
const NO_PINS: Pins = new Map();

/** Follows a group of shards: the members' publications, the planner, and the pins. It sets one watch for each member, and four more. */
export class GroupFollower {
  readonly #reading: Reading;
  readonly #path: string;
  readonly #paths: GroupPaths;
  readonly #onGone: () => void;
  readonly #group: GroupReading;
  readonly #planner: FollowedNode<NodeData>;
  readonly #pins: FollowedNode<NodeData>;
  #view: GroupView | undefined;
  #plannerId: string | undefined;
  #pinned = NO_PINS;
  readonly #done: () => void;
  #hasStopped = false;

  /** @param onGone - called when there is no group any more */
  constructor(reading: Reading, path: string, onGone: () => void) {
    this.#reading = reading;
    this.#path = path;
    this.#paths = new GroupPaths(path);
    this.#onGone = onGone;
    this.#done = reading.begin();
    const { session } = reading;
    const failed = (error: unknown) => this.#failed(error);
    this.#group = new GroupReading(session, this.#paths, {
      onRead: (view) => void this.#read(view), // Never rejects.
      onRefused: failed,
      onFailed: failed,
    });
    const planner = {
      read: (node: NodeData) => void this.#readPlanner(node), // Never rejects.
      missing: () => this.#planned(undefined),
      failed,
    };
    const pins = {
      read: ({ data }: NodeData) => this.#pinnedTo(parsePins(data) ?? NO_PINS),
      missing: () => this.#pinnedTo(NO_PINS),
      failed,
    };
    this.#planner = new FollowedNode(session, this.#paths.planner, DATA, planner, { whenMissing: 'wait' });
    this.#pins = new FollowedNode(session, this.#paths.pins, DATA, pins, { whenMissing: 'wait' });
  }

  stop(): void {
    this.#hasStopped = true;
    for (const each of [this.#group, this.#planner, this.#pins]) each.stop();
    this.#done();
  }

  async #read(view: GroupView): Promise<void> {
    this.#view = view;
    try {
      const isGone = view.list === undefined && (await this.#reading.read(this.#path)) === undefined;
      if (this.#hasStopped) return;
      if (isGone) this.#onGone();
      else this.#report();
    } catch (error) {
      this.#failed(error);
    }
  }

  async #readPlanner({ data, stat }: NodeData): Promise<void> {
    const record = parseRecord(data, stat.version);
    if (record.state !== 'held') return this.#planned(undefined);
    try {
      const node = await this.#reading.read(`${this.#paths.planner}/${record.node}`);
      this.#planned(node === undefined ? undefined : (candidateIdOf(node.data) ?? record.id));
    } catch (error) {
      this.#failed(error);
    }
  }

  #planned(id: string | undefined): void {
    this.#plannerId = id;
    this.#report();
  }

  #pinnedTo(pins: Pins): void {
    this.#pinned = pins;
    this.#report();
  }

  #report(): void {
    const view = this.#view;
    if (this.#hasStopped || view === undefined) return;
    view.settle();
    this.#reading.model.group(this.#path, {
      shards: view.list?.ids,
      members: view.membersByNode,
      ownerOf: (shard) => view.ownerOf(shard),
      planner: this.#plannerId,
      pins: this.#pinned,
    });
    this.#done();
  }

  #failed(error: unknown): void {
    if (this.#hasStopped) return;
    // If the session may not read one part, it may still read the others.
    if (!isNoAuth(error) || this.#view === undefined) this.#reading.refused(this.#path, error);
    this.#done();
  }
}

import { parseRecord } from '../../../src/election/record/election-record.js';
import type { OwnedShard } from '../../../src/shards/ownership/owned-shard.js';
import { GroupPaths } from '../../../src/shards/stored/group-paths.js';
import type { TreeChange } from '../../../src/testing/state/watch-table.js';
import type { NodeReader } from '../committed-leaders.js';
import type { Ledger } from '../ledger.js';
import { GROUP, type MemberProcess, noteOf } from './member-process.js';

/** Checks all members whenever one of them may have begun to act, and everything that the servers commit. */
export class ShardChecker {
  readonly #ledger: Ledger;
  readonly #members: () => readonly MemberProcess[];
  readonly #shards: readonly string[];
  readonly #newest = new Map<string, Pick<OwnedShard, 'token' | 'number'>>();
  readonly #notes: ReadonlyMap<string, string>;
  readonly #paths = new GroupPaths(GROUP);
  /** The shards for which a member acts. */
  readonly #acting = new Set<string>();
  #zxid = 0n;

  constructor(ledger: Ledger, members: () => readonly MemberProcess[], shards: readonly string[]) {
    this.#ledger = ledger;
    this.#members = members;
    this.#shards = shards;
    this.#notes = new Map(shards.map((shard) => [noteOf(shard), shard]));
  }

  /** Checks that no two members act at once for one shard. Called at each heartbeat: it asks each member once, and makes no lists. */
  checkActing(): void {
    this.#acting.clear();
    const members = this.#members();
    let areTwo = false;
    const note = (shard: string) => {
      areTwo ||= this.#acting.has(shard);
      this.#acting.add(shard);
    };
    for (const each of members) each.forEachActing(note);
    if (areTwo) this.#nameOwners(members);
  }

  #nameOwners(members: readonly MemberProcess[]): void {
    for (const shard of this.#shards) {
      const acting = members.filter((each) => each.actsFor(shard));
      if (acting.length < 2) continue;
      const names = `${acting.map(({ id }) => id).join(' and ')} for shard ${shard}`;
      this.#ledger.violateOnce('two owners', names);
    }
  }

  acquired({ id, token, number }: OwnedShard, by: string): void {
    this.#ledger.count('terms');
    const newest = this.#newest.get(id);
    if (newest !== undefined && token <= newest.token)
      this.#ledger.violate('token', `${token} of shard ${id} was given to ${by} after ${newest.token}`);
    if (newest !== undefined && number <= newest.number)
      this.#ledger.violate('term', `${number} of shard ${id} was given to ${by} after ${newest.number}`);
    this.#newest.set(id, { token, number });
    this.checkActing();
  }

  /** A server has applied a change; the first one to do so counts. Its state is then the one right after that transaction. */
  applied(zxid: bigint, { path, kind }: TreeChange, read: NodeReader): void {
    const shard = this.#notes.get(path);
    if (shard === undefined || kind !== 'changed' || zxid <= this.#zxid) return;
    this.#zxid = zxid;
    const note = read(path);
    const record = read(this.#paths.recordOf(shard));
    if (note?.data == null || record === undefined) return;
    const { node } = { node: undefined, ...parseRecord(record.data ?? Buffer.alloc(0), record.version) };
    this.#ledger.count('guarded writes that were looked at');
    if (`${this.#paths.members}/${node}` !== String(note.data))
      this.#ledger.violate('fence', `${String(note.data)} wrote for shard ${shard}, which is ${node}'s`);
  }
}

import { parseRecord } from '../../src/election/record/election-record.js';
import type { TreeChange } from '../../src/testing/state/watch-table.js';
import { ELECTION } from './candidates/candidate.js';

/** One term, as the servers committed it, with its leader's node. */
interface CommittedTerm {
  readonly term: number;
  /** How often the ensemble had lost its data before. Numbers of one life begin anew in the next. */
  readonly life: number;
  readonly node: string;
  endedAt: number | undefined;
}

/** The state of a node at the first server that applied a transaction, at that time. */
export type NodeReader = (
  path: string,
) => { readonly data: Buffer | null; readonly version: number } | undefined;

/** Which nodes led the election, and until when, by the servers' committed data. */
export class CommittedLeaders {
  readonly #now: () => number;
  readonly #terms = new Map<string, CommittedTerm>();
  #zxid = 0n;
  #current: CommittedTerm | undefined;
  #changedAt = 0;
  #life = 0;
  /** Nodes that led when the data were lost, and are in the data that were restored. */
  readonly #cameBack = new Set<string>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A server has applied a change: the first one to do so counts. */
  applied(zxid: bigint, change: TreeChange, read: NodeReader): void {
    if (zxid < this.#zxid) return;
    this.#endIfGone(change.path, read);
    if (change.path !== ELECTION && change.path !== this.#holderPath) return;
    this.#zxid = zxid;
    this.#look(read);
  }

  /** The ensemble has lost its data. From now on its present data count, up to that transaction. */
  beginAnew(zxid: bigint, read: NodeReader): void {
    const former = this.#holderPath;
    if (former !== undefined && read(former) !== undefined)
      this.#cameBack.add(former.slice(ELECTION.length + 1));
    this.#life++;
    this.#zxid = zxid;
    this.#end();
    this.#changedAt = this.#now();
    this.#look(read);
  }

  /** A leader by lost data leads no longer than its node exists. */
  #endIfGone(path: string, read: NodeReader): void {
    const node = path.slice(ELECTION.length + 1);
    if (!this.#cameBack.has(node) || read(path) !== undefined) return;
    this.#cameBack.delete(node);
    const term = this.#terms.get(node);
    if (term !== undefined) term.endedAt = this.#now();
    this.#changedAt = this.#now();
  }

  #look(read: NodeReader): void {
    const found = read(ELECTION);
    const record = found && parseRecord(found.data ?? Buffer.alloc(0), found.version);
    if (record?.state !== 'held' || read(`${ELECTION}/${record.node}`) === undefined) this.#end();
    else if (record.node !== this.#current?.node) this.#begin(record.term, record.node);
  }

  get #holderPath(): string | undefined {
    return this.#current && `${ELECTION}/${this.#current.node}`;
  }

  #begin(term: number, node: string): void {
    this.#end();
    this.#current = { term, life: this.#life, node, endedAt: undefined };
    this.#terms.set(node, this.#current);
    this.#changedAt = this.#now();
  }

  #end(): void {
    if (this.#current === undefined) return;
    this.#current.endedAt = this.#now();
    this.#current = undefined;
    this.#changedAt = this.#now();
  }

  /** The leader's node, by the newest state of any server. */
  get leader(): string | undefined {
    return this.#current?.node;
  }

  /**
   * Whether that node's candidate leads by data that were lost: its node and its session are in the restored data, but not its claim. It leads on
   * for as long as no other candidate writes the record, and observers that know it from before show it.
   */
  leadsByLostData(node: string): boolean {
    return this.#cameBack.has(node) && this.#current?.node !== node;
  }

  /** Since when that is so. */
  get changedAt(): number {
    return this.#changedAt;
  }

  /** The term that was led by that node; there is one at most. */
  termOf(node: string): Readonly<CommittedTerm> | undefined {
    return this.#terms.get(node);
  }
}

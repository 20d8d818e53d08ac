import { NodeExistsError, NoNodeError } from '../../errors.js';
import { LazyAbortController, onAbort } from '../../platform/async/lazy-abort-controller.js';
import { ignore } from '../../platform/async/promises.js';
import { sleep } from '../../platform/time/clock.js';
import type { Contender } from '../../queue/contender.js';
import { isUnanswered } from '../../session/operations.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import { type MemberReport, NO_REPORT, serializeReport } from '../stored/data-formats.js';
import type { GroupPaths } from '../stored/group-paths.js';
import type { GroupShards } from '../stored/shard-list.js';

const NO_DATA = Buffer.alloc(0);

/**
 * Writes what a member says to the planner, on an ephemeral node of its own, which it makes when it first has something to say. One write
 * at a time, and only the newest report: what is reported meanwhile is written together. A write that isn't answered, or that a server
 * refuses, is repeated until the member's node is gone.
 */
export class MemberReportWriter {
  readonly #member: Contender;
  readonly #path: string;
  /** Tells the planner: a session has no watch for children. */
  readonly #announcement: TransactionPart;
  #shards: GroupShards;
  readonly #onError: (error: unknown) => void;
  /** Aborts when nothing more is to be written. */
  readonly #over = new LazyAbortController();
  #report = NO_REPORT;
  /** What its node says, if that is known. */
  #written: Buffer | undefined;
  /** `maybe`: it was to be made, and that wasn't answered. */
  #exists: 'no' | 'maybe' | 'yes' = 'no';
  #writing: Promise<void> | undefined;

  /** @param onError - is told of each refusal of a server */
  constructor(paths: GroupPaths, member: Contender, shards: GroupShards, onError: (error: unknown) => void) {
    this.#member = member;
    this.#path = paths.reportOf(member.entry.node);
    this.#announcement = { kind: 'set', path: paths.reports, data: NO_DATA };
    this.#shards = shards;
    this.#onError = onError;
    onAbort(member.node.lost, () => this.#over.abort(member.node.lost.reason));
  }

  /** From now on it says this; what isn't given stays as it was. Does nothing once it is stopped, or the member's node is gone. */
  write(change: Partial<MemberReport>): void {
    this.#report = { ...this.#report, ...change };
    this.#writeSoon();
  }

  /** The group has other shards: what it says has other numbers from now on. */
  relist(shards: GroupShards): void {
    this.#shards = shards;
    this.#writeSoon();
  }

  #writeSoon(): void {
    if (!this.#over.aborted && this.#due !== undefined) this.#writing ??= this.#write();
  }

  /** Writes nothing more. Resolves when no write is on its way. Never rejects. */
  async stop(): Promise<void> {
    this.#over.abort(new Error('the report is no longer needed')); // Ends waits in here. Never seen outside.
    await this.#writing;
  }

  /** Deletes the node, after {@link stop}. If that comes to nothing, it goes with the session. Never rejects. */
  async remove(): Promise<void> {
    if (this.#exists !== 'no') await this.#member.session.remove(this.#path).catch(ignore);
  }

  /** What is to be written. */
  get #due(): Buffer | undefined {
    const { draining, refused, ready } = this.#report;
    const saysNothing = !draining && refused.length === 0 && ready.length === 0;
    if (this.#exists === 'no' && saysNothing) return undefined;
    const data = serializeReport(this.#report, this.#shards);
    return this.#written?.equals(data) ? undefined : data;
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    try {
      for (let data = this.#due; data !== undefined && !this.#over.aborted; data = this.#due)
        await this.#writeOnce(data);
    } catch (error) {
      if (!this.#over.aborted && !this.#member.session.ended.aborted) this.#onError(error);
    } finally {
      this.#writing = undefined;
    }
  }

  async #writeOnce(data: Buffer): Promise<void> {
    const { node, session } = this.#member;
    const path = this.#path;
    const part: TransactionPart =
      this.#exists === 'yes'
        ? { kind: 'set', path, data }
        : { kind: 'create', path, mode: 'ephemeral', data };
    this.#written = undefined;
    try {
      if (this.#exists === 'no') this.#exists = 'maybe';
      await node.commit([part, this.#announcement]);
      this.#exists = 'yes';
      this.#written = data;
    } catch (error) {
      if (node.isGone) return this.#over.abort(error);
      const isIt = (error as { path?: unknown }).path === session.absolute(path);
      if (isIt && error instanceof NodeExistsError)
        this.#exists = 'yes'; // By a write whose reply was lost.
      else if (isIt && error instanceof NoNodeError && this.#exists === 'yes')
        this.#exists = 'maybe'; // Another client has deleted it.
      else if (isUnanswered(error)) await session.whenConnected(this.#over);
      else {
        this.#onError(error);
        await sleep(session.clock, session.leaseMs, this.#over);
      }
    }
  }
}

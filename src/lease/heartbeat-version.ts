import { describe, NodeExistsError, NoNodeError, ZooKeeperError } from '../errors.js';
import type { RaisedVersion } from '../session/connection/heartbeat-batch.js';
import type { Reply } from '../session/connection/reply.js';
import { isUnanswered } from '../session/operations.js';
import type { PartResult, TransactionPart } from '../session/protocol/records.js';

/**
 * The state of a heartbeat node, as far as its session knows. It is the empty node beside a candidate's own node, and the
 * candidate's heartbeats raise its version.
 *
 * - `unsent`: no write that creates it was sent.
 * - `sent`: such a write was sent, and isn't answered yet.
 * - `repeated`: the write was sent again. The second write mostly finds the node. But if another client has deleted it in
 *   between, the first version comes again, which others may have seen long ago. So no lease begins with it.
 * - `claiming`: a claim that creates the node was sent, and its outcome isn't known. No heartbeat may be sent: the servers could
 *   refuse a heartbeat that raises the version because the node is missing, and any other heartbeat would begin a lease without a
 *   version.
 * - `there`: the node exists. `version` is the newest one, by the transaction `zxid`; -1 if only the node's existence is known.
 * - `lost`: the node is gone or of no use. It is never created again, because its versions would begin anew.
 */
type State =
  | { readonly name: 'unsent' | 'sent' | 'repeated' | 'claiming' | 'lost' }
  | { readonly name: 'there'; readonly version: number; readonly zxid: bigint };

/** The events that a {@link HeartbeatVersion} reports to its owner. */
export interface HeartbeatVersionOwner {
  /** The next heartbeat is another write than the one before. */
  onChanged(): void;
  /** The servers refuse to create the heartbeat node. Heartbeats don't raise a version then. */
  onUnavailable(cause: Error): void;
  /**
   * The heartbeat node is gone or can't be written, or the data of the servers went back. No heartbeat can prove anything any
   * more.
   */
  onUnprovable(why: string, cause?: Error): void;
}

/** Writes the parts in one transaction, and returns the results of these parts. */
export type CommitParts = (parts: readonly TransactionPart[]) => Promise<Reply<PartResult[]>>;

const NO_DATA = Buffer.alloc(0);

/**
 * The version that the heartbeats of one candidate raise. It shows the next candidate in line whether there was another
 * heartbeat. See docs/design/takeover.md.
 */
export class HeartbeatVersion implements RaisedVersion {
  /** The path of the heartbeat node. */
  readonly path: string;
  /** The path with the chroot. */
  readonly #absolutePath: string;
  readonly #owner: HeartbeatVersionOwner;
  #state: State = { name: 'unsent' };

  constructor(path: string, absolutePath: string, owner: HeartbeatVersionOwner) {
    this.path = path;
    this.#absolutePath = absolutePath;
    this.#owner = owner;
  }

  /** Whether the heartbeat node may exist. */
  get mayExist(): boolean {
    return this.#state.name !== 'unsent';
  }

  /** Whether the heartbeat node is known to exist. */
  get exists(): boolean {
    return this.#state.name === 'there';
  }

  nextWrite(): TransactionPart | undefined {
    switch (this.#state.name) {
      case 'unsent':
        this.#become({ name: 'sent' });
        return creationOf(this.#absolutePath);
      case 'sent':
      case 'repeated':
        this.#become({ name: 'repeated' });
        return creationOf(this.#absolutePath);
      case 'there':
        return raiseOf(this.#absolutePath);
      case 'claiming':
      case 'lost':
        return undefined;
    }
  }

  /** The same write as {@link nextWrite}, as a part of a transaction of the session. */
  nextProof(): TransactionPart | undefined {
    const write = this.nextWrite();
    return write && { ...write, path: this.path };
  }

  /**
   * @param zxid - the transaction that wrote the node. Two writes may be under way, and the answer to the earlier one may be
   *   handled later.
   */
  written({ stat }: PartResult, zxid: bigint): boolean {
    const before = this.#state;
    if (before.name === 'lost') return false;
    if (before.name === 'there' && zxid < before.zxid) return true;
    const version = stat?.version ?? 0; // The result of a creation has no stat.
    if (before.name === 'there' && version <= before.version) {
      this.#lose(`the version of ${this.path} went back: the servers' data was restored from a backup`);
      return false;
    }
    this.#become({ name: 'there', version, zxid });
    if (before.name !== 'there') this.#owner.onChanged();
    return before.name !== 'repeated' && before.name !== 'claiming'; // After a claim, the lease began with the claim.
  }

  refused(error: ZooKeeperError): void {
    if (error instanceof NodeExistsError) return this.found();
    if (this.#state.name === 'claiming') return; // The claim that was sent behind this write has its own answer.
    if (this.#state.name === 'sent' || this.#state.name === 'repeated') {
      this.#become({ name: 'lost' });
      return this.#owner.onUnavailable(error);
    }
    if (error instanceof NoNodeError) return this.#lose(`${this.path} was deleted by another client`);
    this.#lose(`no heartbeat can be written to ${this.path} (${describe(error)})`, error);
  }

  /**
   * Whether a write was refused because it was to delete the heartbeat node, which is gone. From then on there is none to delete.
   */
  deletionRefused(error: unknown): boolean {
    if (!(error instanceof NoNodeError && isAbout(error, { kind: 'delete', path: this.path }))) return false;
    this.#become({ name: 'lost' });
    return true;
  }

  /** Called when the heartbeat node was found: an unanswered write has created it. */
  found(): void {
    if (this.#state.name === 'lost' || this.#state.name === 'there') return;
    this.#become({ name: 'there', version: -1, zxid: 0n });
    this.#owner.onChanged();
  }

  /**
   * Sends a claim by `commit`, together with the part that creates the heartbeat node, unless the node exists. If the claim isn't
   * answered, no heartbeat is sent for the node before {@link claimSettled}. @throws what `commit` throws
   */
  async claimWith(parts: readonly TransactionPart[], commit: CommitParts): Promise<Reply<PartResult[]>> {
    if (this.exists) return await commit(parts);
    const creation = creationOf(this.path);
    this.#become({ name: 'claiming' });
    this.#owner.onChanged();
    try {
      const reply = await commit([...parts, creation]);
      this.written(reply.value.at(-1) as PartResult, reply.zxid);
      return { ...reply, value: reply.value.slice(0, -1) };
    } catch (error) {
      if (!isUnanswered(error)) this.claimSettled();
      if (isAbout(error, creation)) this.refused(error);
      throw error;
    }
  }

  /** The servers have carried the claim out, or never will. The next write creates the heartbeat node, or finds it. */
  claimSettled(): void {
    if (this.#state.name !== 'claiming') return;
    this.#become({ name: 'repeated' });
    this.#owner.onChanged();
  }

  #lose(why: string, cause?: Error): void {
    this.#become({ name: 'lost' });
    this.#owner.onChanged();
    this.#owner.onUnprovable(why, cause);
  }

  #become(next: State): void {
    this.#state = next;
  }
}

function creationOf(path: string): TransactionPart {
  return { kind: 'create', path, mode: 'ephemeral' };
}

function raiseOf(path: string): TransactionPart {
  return { kind: 'set', path, data: NO_DATA };
}

/**
 * Whether a claim was refused because of the heartbeat node that it was to create. An earlier heartbeat has created the node and
 * its reply was lost, or the session may not create it. Further claims don't create it.
 */
export function isHeartbeatNodeRefused(error: unknown): boolean {
  return error instanceof ZooKeeperError && error.operation === 'multi[create]';
}

/** Whether a transaction was refused because of that part. */
export function isAbout(error: unknown, { kind, path }: TransactionPart): error is ZooKeeperError {
  return (
    error instanceof ZooKeeperError &&
    error.operation === `multi[${kind}]` &&
    error.path?.endsWith(path) === true
  );
}

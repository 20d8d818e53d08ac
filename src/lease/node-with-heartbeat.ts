import { BadVersionError, describe, NodeLostError, NoNodeError, type ZooKeeperError } from '../errors.js';
import type { Reply } from '../session/connection/reply.js';
import type { RecordVersion } from '../session/keep-alive/heartbeat-batch.js';
import type { PartResult, TransactionPart } from '../session/protocol/multi-and-stats.js';
import type { Session } from '../session/session.js';
import { HeartbeatNode } from './heartbeat-node.js';
import { OwnNode } from './own-node.js';

/**
 * A node with a heartbeat node beside it, as of a candidate or a member of a group. A lease begins with the sending of a proof, and with
 * nothing else. A proof is a transaction that checks the node and raises the heartbeat node's version. So other sessions see every lease, see
 * src/election/README.md. The proofs of a term that is led by the node also check that the record is at the version of the term
 * ({@link NodeWithHeartbeat.beginTerm}).
 */
export class NodeWithHeartbeat extends OwnNode {
  readonly raised: HeartbeatNode;
  #record: RecordVersion | undefined;

  /** @param heartbeatPath - of the heartbeat node, which was created with the node */
  static of(session: Session, path: string, heartbeatPath: string): NodeWithHeartbeat {
    return new NodeWithHeartbeat(session, path, heartbeatPath);
  }

  private constructor(session: Session, path: string, heartbeatPath: string) {
    super(session, path);
    const unprovable = (why: string, cause?: Error) =>
      this.giveUp(new NodeLostError(`${path} is given up: ${why}`, { cause }));
    this.raised = new HeartbeatNode(heartbeatPath, session.absolute(heartbeatPath), unprovable);
  }

  /** The record of the term that is led by the node, at the version of the term. */
  get record(): RecordVersion | undefined {
    return this.#record;
  }

  /** @internal See {@link ProvenNode.recordLost}. */
  recordLost(cause?: ZooKeeperError): void {
    this.giveUp(new RecordLostError(this.#record?.absolutePath ?? this.absolutePath, cause));
  }

  /** Whether the node has a lease of the term that began with this version of the record. */
  hasLeaseOf(version: number): boolean {
    return this.#record?.version === version && this.isHeld();
  }

  /**
   * Begins a term, by a proof together with `parts`, which check or write the record. Its lease begins with the sending of that write: no
   * lease of an earlier term counts. From then on heartbeats extend it, each of which the servers carry out only while the record has the
   * version of the term.
   * @param record - the version that the record has after the write
   * @returns the results of `parts`
   * @throws as {@link commit} does, or the servers' refusal of a part; then no term has begun
   */
  async beginTerm(
    parts: readonly TransactionPart[],
    record: Omit<RecordVersion, 'absolutePath'>,
  ): Promise<Reply<PartResult[]>> {
    this.session.keepAlive.remove(this); // A heartbeat that is on its way belongs to another version of the record.
    this.#record = undefined;
    this.dropLease();
    const reply = await this.prove(parts);
    this.#record = { ...record, absolutePath: this.session.absolute(record.path) };
    this.keepAlive();
    return reply;
  }

  protected async prove(parts: readonly TransactionPart[] = []): Promise<Reply<PartResult[]>> {
    const { raised } = this;
    const record = this.#record;
    const ofTerm = record === undefined ? [] : [checkOf(record)];
    try {
      const reply = await this.commitGuarded([raised.raise, ...ofTerm, ...parts]);
      const [proof] = reply.value;
      if (raised.written(proof as PartResult, reply.zxid)) this.extendLease(reply.sentAt);
      this.lost.throwIfAborted();
      return { ...reply, value: reply.value.slice(1 + ofTerm.length) };
    } catch (error) {
      if (raised.raiseRefused(error)) raised.refused(error);
      else if (record !== undefined && isOfAnotherTerm(error, record)) this.recordLost(error);
      else throw error;
      throw this.lost.reason ?? error;
    }
  }

  protected found(): void {
    // No other session would see a lease that began with a write which doesn't raise a version.
  }
}

/** The part of a transaction that the servers carry out only while the record has the version of the term. */
export function checkOf({ path, version }: RecordVersion): TransactionPart {
  return { kind: 'check', path, version };
}

/** Whether a transaction was refused because of {@link checkOf}. */
export function isOfAnotherTerm(error: unknown, record: RecordVersion | undefined): error is ZooKeeperError {
  if (!(error instanceof BadVersionError || error instanceof NoNodeError)) return false;
  return error.operation === 'multi[check]' && error.path === record?.absolutePath;
}

/** The record of the term that was led by a node isn't the term's any more, or the session may no longer read it. */
export class RecordLostError extends NodeLostError {
  /** @param path - the absolute path of the record */
  constructor(path: string, cause?: ZooKeeperError) {
    const why = cause === undefined ? '' : ` (${describe(cause)})`;
    super(
      `the servers refuse the writes of this term: another client has written ${path}, or has changed who may read it${why}`,
      { cause },
    );
  }
}

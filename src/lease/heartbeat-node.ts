import { describe, NoNodeError, ZooKeeperError } from '../errors.js';
import type { RaisedVersion } from '../session/keep-alive/heartbeat-batch.js';
import type { PartResult, Stat, TransactionPart } from '../session/protocol/multi-and-stats.js';

const NO_DATA = Buffer.alloc(0);
/** Others see by it that the main thread of the holder stands still: see {@link isByThread}. */
const BY_THREAD = Buffer.from([1]);

/** Whether a thread has sent the newest heartbeat, for a main thread that stands still. Of the stat of a heartbeat node. */
export function isByThread({ dataLength }: Pick<Stat, 'dataLength'>): boolean {
  return dataLength > 0;
}

/**
 * The heartbeat node of a contender, as far as its session knows. One transaction creates it together with the contender's own node,
 * and it is never created again. So each of its versions is written once, by one heartbeat or claim, and other sessions see whether
 * there was another one. See src/election/README.md.
 */
export class HeartbeatNode implements RaisedVersion {
  readonly path: string;
  readonly #absolutePath: string;
  readonly #onUnprovable: (why: string, cause?: Error) => void;
  /** The newest version that an answer has shown, and the transaction that wrote it. */
  #newest = { version: 0, zxid: 0n };
  #isGone = false;

  /**
   * @param absolutePath - with the chroot
   * @param onUnprovable - called when no heartbeat can prove anything any more: the node is gone or can't be written, or the data of the
   *   servers went back
   */
  constructor(path: string, absolutePath: string, onUnprovable: (why: string, cause?: Error) => void) {
    this.path = path;
    this.#absolutePath = absolutePath;
    this.#onUnprovable = onUnprovable;
  }

  get version(): number {
    return this.#newest.version;
  }

  /** The part of a transaction that raises the version. Without a lost reply it raises it once; a repeated one raises it again. */
  get raise(): TransactionPart {
    return { kind: 'set', path: this.path, data: NO_DATA };
  }

  /** As {@link raise}, with the absolute path. */
  absoluteRaise(byThread: boolean): TransactionPart {
    return { kind: 'set', path: this.#absolutePath, data: byThread ? BY_THREAD : NO_DATA };
  }

  /** The part of a transaction that deletes the node. None if another client has deleted it. */
  get deletion(): TransactionPart[] {
    return this.#isGone ? [] : [{ kind: 'delete', path: this.path }];
  }

  /**
   * @param zxid - the transaction that wrote the node. Two writes may be under way, and the answer to the earlier one may be handled later.
   */
  written({ stat }: PartResult, zxid: bigint): boolean {
    return this.shown(stat?.version ?? 0, zxid);
  }

  /** As {@link written}. */
  shown(version: number, zxid: bigint): boolean {
    if (zxid < this.#newest.zxid) return true;
    if (version <= this.#newest.version) {
      this.#onUnprovable(
        `the version of ${this.path} went back: the servers' data was restored from a backup`,
      );
      return false;
    }
    this.#newest = { version, zxid };
    return true;
  }

  refused(error: ZooKeeperError): void {
    this.#isGone = error instanceof NoNodeError;
    if (this.#isGone) this.#onUnprovable(`${this.path} was deleted by another client`);
    else this.#onUnprovable(`no heartbeat can be written to ${this.path} (${describe(error)})`, error);
  }

  /**
   * Whether a write was refused because it was to delete this node, which is gone. From then on {@link deletion} is empty, and the same
   * write can be sent without that part.
   */
  deletionRefused(error: unknown): boolean {
    if (!(error instanceof NoNodeError && isAbout(error, { kind: 'delete', path: this.path }))) return false;
    this.#isGone = true;
    return true;
  }

  /** Whether a transaction was refused because it was to raise the version. Then the contender can't prove its node any more. */
  raiseRefused(error: unknown): error is ZooKeeperError {
    return isAbout(error, this.raise);
  }
}

/** Whether a transaction was refused because of that part. */
function isAbout(error: unknown, { kind, path }: TransactionPart): error is ZooKeeperError {
  return (
    error instanceof ZooKeeperError &&
    error.operation === `multi[${kind}]` &&
    error.path?.endsWith(path) === true
  );
}

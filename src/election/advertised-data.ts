import { BadVersionError, NodeLostError, NoNodeError } from '../errors.js';
import type { OwnNode } from '../lease/own-node.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { abortable, anyAbort, ignore } from '../platform/async/promises.js';
import type { Session } from '../session/session.js';
import { serializeCandidate } from './candidates/candidate.js';
import { withRequestOf } from './requests/candidate-request.js';

/**
 * What a candidate advertises. It is written in one write at a time, always of the newest data. So a write whose reply
 * was lost can't overwrite a newer one.
 */
export class AdvertisedData {
  readonly #id: string;
  #data: string | Uint8Array | undefined;
  #prepared: boolean | undefined;
  #revision = 0;
  /** The newest revision that the node surely has. */
  #published = 0;
  #writing: Promise<void> = Promise.resolve();

  /** @param prepares - whether the candidate has the option `prepare`. Without it, the node doesn't say `prepared` */
  constructor(id: string, data: string | Uint8Array | undefined, prepares = false) {
    this.#id = id;
    if (prepares) this.#prepared = false;
    this.change(data);
    this.#revision = 0;
  }

  /** The data with which a new node is created. */
  bytes(): Buffer {
    return serializeCandidate(this.#id, this.#data, this.#prepared);
  }

  get revision(): number {
    return this.#revision;
  }

  /** A node was created with the bytes of this revision. */
  created(revision: number): void {
    this.#published = revision;
  }

  /** Takes a copy: later changes that the caller makes to its bytes aren't advertised. */
  change(data: string | Uint8Array | undefined): void {
    this.#data = typeof data === 'string' ? data : data && Uint8Array.from(data);
    this.#revision++;
  }

  /** Whether the candidate has done what it does before it leads. */
  prepared(prepared: boolean): void {
    if (prepared !== this.#prepared) this.#revision++;
    this.#prepared = prepared;
  }

  /**
   * Resolves when the node has the newest data, or is gone: the next node is then created with that data.
   * @throws the error that ended the session, the signal's reason, or a `ZooKeeperError` if a server refuses
   */
  async publish(session: Session, own: OwnNode, signal?: Abortable): Promise<void> {
    if (this.#published === this.#revision) return;
    const turn = this.#writing.then(() => this.#write(session, own, signal));
    this.#writing = turn.catch(ignore); // The caller of this write sees the error; the next caller tries by itself.
    await abortable(turn, signal); // An earlier caller's turn may take longer than the signal allows.
  }

  async #write(session: Session, own: OwnNode, signal?: Abortable): Promise<void> {
    const { controller, unsubscribe } = anyAbort(own.lost, signal);
    const writeNewest = async () => {
      const revision = this.#revision;
      const { data, stat } = await session.getData(own.path);
      // Requests of others to this candidate stay on the node, and are never overwritten unseen.
      const bytes = withRequestOf(this.bytes(), data);
      try {
        await session.setData(own.path, bytes, stat.version);
        this.#published = revision;
      } catch (error) {
        if (!(error instanceof BadVersionError)) throw error;
      }
    };
    try {
      while (this.#published < this.#revision) await session.retryUntilAnswered(writeNewest, controller);
    } catch (error) {
      if (!(error instanceof NoNodeError || error instanceof NodeLostError)) throw error;
    } finally {
      unsubscribe();
    }
  }
}

import { DistributedLock, Session } from 'conclave';
import { setPrivate } from './private.mjs';

/**
 * @import { TransactionPart } from 'conclave'
 * @import { Client, ClientEvent, CreateOptions, Subject } from './contract.js'
 */

/**
 * Conclave as a subject.
 *
 * @type {Subject}
 */
export const conclave = {
  begin(connectString, { sessionTimeoutMs = 30_000, credentials } = {}) {
    const given = new AbortController();
    const connect = async () =>
      new ConclaveClient(
        await Session.connect(connectString, {
          sessionTimeoutMs,
          signal: given.signal,
          ...(credentials !== undefined && { auth: { scheme: 'digest', credentials } }),
        }),
      );
    return {
      opened: connect(),
      giveUp: () => given.abort(new Error('given up')),
      // An open session can't be connected again, so this creates another session.
      again: connect,
    };
  },
};

/** @implements {Client} */
class ConclaveClient {
  #session;

  /** @param {Session} session */
  constructor(session) {
    this.#session = session;
  }

  /**
   * @param {string} path
   * @param {CreateOptions} [options]
   */
  async create(path, options = {}) {
    // A scenario asks for a mode that Conclave doesn't offer.
    const { value } = await this.#session.create(
      path,
      /** @type {import('conclave').CreateOptions} */ (options),
    );
    return value;
  }

  /** @param {string} path */
  exists(path) {
    return this.#session.exists(path);
  }

  /**
   * @param {string} path
   * @param {() => void} [onChange]
   * @param {AbortSignal} [signal]
   */
  async getData(path, onChange, signal) {
    const options = { ...(onChange && { onChange }), ...(signal && { signal }) };
    return (await this.#session.getData(path, options)).data;
  }

  /**
   * @param {string} path
   * @param {Buffer} data
   */
  setData(path, data) {
    return this.#session.setData(path, data);
  }

  /** @param {readonly TransactionPart[]} parts */
  commit(parts) {
    return this.#session.commit(parts);
  }

  /** @param {string} path */
  async hold(path) {
    const hold = await this.enqueue(path);
    return { node: hold.path, isHeld: () => hold.isHeld() };
  }

  /** @param {string} path */
  enqueue(path) {
    return new DistributedLock(this.#session, path).acquire();
  }

  /** The numbers above it are for heartbeats that a thread sends. */
  get lastXid() {
    return 0x6fff_ffff;
  }

  /** @param {number} xid */
  countRequestsFrom(xid) {
    return setPrivate(this.#session, '#connection.#xid', xid - 1); // It holds the last one that was used.
  }

  /**
   * @param {ClientEvent} event
   * @param {() => void} listener
   */
  once(event, listener) {
    this.#session.once(event, listener);
  }

  close() {
    return this.#session.close();
  }
}

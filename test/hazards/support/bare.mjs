import { createRequire } from 'node:module';
import { deferred } from '../../support/waiting.mjs';

/**
 * @import { TransactionPart } from 'conclave'
 * @import { Client, ClientEvent, CreateOptions, Subject } from './contract.js'
 */

// The client has no declarations, and the ones by others are wrong in a dozen places.
const zookeeper = createRequire(import.meta.url)('node-zookeeper-client');

const FLAGS = { persistent: 0, ephemeral: 1, 'ephemeral-sequential': 3, container: 4 };
const EVENTS = { suspended: 'disconnected', resumed: 'connected', expired: 'expired' };

/**
 * node-zookeeper-client by itself, used as its README says, with a promise for each callback.
 *
 * @type {Subject}
 */
export const bare = {
  begin(connectString, { sessionTimeoutMs = 30_000, credentials, retries = 0 } = {}) {
    const client = zookeeper.createClient(connectString, { sessionTimeout: sessionTimeoutMs, retries });
    if (credentials !== undefined) client.addAuthInfo('digest', Buffer.from(credentials));
    const acls = credentials === undefined ? zookeeper.ACL.OPEN_ACL_UNSAFE : zookeeper.ACL.CREATOR_ALL_ACL;
    const connected = () =>
      new Promise((resolve) => client.once('connected', () => resolve(new BareClient(client, acls))));
    const opened = connected();
    client.connect();
    return {
      opened,
      giveUp: () => client.close(),
      again: () => {
        client.connect();
        return opened;
      },
    };
  },
};

/**
 * Calls a function of the client. Its exceptions stay exceptions: to turn them into rejections would do the client's work.
 *
 * @param {(done: (error: Error | undefined, ...results: any[]) => void) => void} start
 * @returns {Promise<any[]>}
 */
function call(start) {
  /** @type {(results: any[]) => void} */
  let resolve = () => undefined;
  /** @type {(error: Error) => void} */
  let reject = () => undefined;
  /** @type {Promise<any[]>} */
  const promise = new Promise((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  start((error, ...results) => (error ? reject(error) : resolve(results)));
  return promise;
}

/** @implements {Client} */
class BareClient {
  #client;
  #acls;
  /** @type {Promise<void> | undefined} */
  #closing;

  /**
   * @param {any} client
   * @param {unknown[]} acls
   */
  constructor(client, acls) {
    this.#client = client;
    this.#acls = acls;
  }

  /**
   * @param {string} path
   * @param {CreateOptions} [options]
   */
  create(path, { mode = 'persistent', data = Buffer.alloc(0) } = {}) {
    return this.#create(path, data, mode);
  }

  /** @param {string} path */
  exists(path) {
    return call((done) => this.#client.exists(path, done)).then(([stat]) => stat ?? undefined);
  }

  /**
   * @param {string} path
   * @param {() => void} [onChange] stays, because the client can't remove a watcher
   */
  getData(path, onChange) {
    return call((done) => this.#client.getData(path, onChange, done)).then(([data]) => data);
  }

  /**
   * @param {string} path
   * @param {Buffer} data
   */
  setData(path, data) {
    return call((done) => this.#client.setData(path, data, done));
  }

  /** @param {readonly TransactionPart[]} parts */
  commit(parts) {
    const transaction = this.#client.transaction();
    for (const part of parts) {
      if (part.kind === 'check') transaction.check(part.path, part.version);
      if (part.kind === 'set') transaction.setData(part.path, part.data, part.version);
      if (part.kind === 'delete') transaction.remove(part.path, part.version);
    }
    return call((done) => transaction.commit(done));
  }

  /** @param {string} path */
  async hold(path) {
    await this.#create(path, Buffer.alloc(0), 'ephemeral');
    return { node: path, isHeld: () => this.#client.getState() === zookeeper.State.SYNC_CONNECTED };
  }

  /** @param {string} path */
  enqueue(path) {
    return this.#create(`${path}/lock-`, Buffer.alloc(0), 'ephemeral-sequential');
  }

  /** There is no number after it in 32 bits. */
  get lastXid() {
    return 2 ** 31 - 1;
  }

  /** @param {number} xid */
  async countRequestsFrom(xid) {
    this.#client.connectionManager.xid = xid;
  }

  /**
   * @param {ClientEvent} event
   * @param {() => void} listener
   */
  once(event, listener) {
    this.#client.once(EVENTS[event], listener);
  }

  /** The client doesn't say when it is closed: `disconnected` comes nearest. */
  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #close() {
    const closed = deferred();
    this.#client.once('disconnected', closed.resolve);
    if (this.#client.getState() !== zookeeper.State.SYNC_CONNECTED) closed.resolve();
    this.#client.close();
    return closed.promise;
  }

  /**
   * @param {string} path
   * @param {Buffer} data
   * @param {keyof typeof FLAGS} mode
   */
  #create(path, data, mode) {
    return call((done) => this.#client.create(path, data, this.#acls, FLAGS[mode], done)).then(
      ([created]) => /** @type {string} */ (created),
    );
  }
}

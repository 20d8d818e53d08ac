import { createRequire } from 'node:module';
import { promisify } from 'node:util';

// The package has no type declarations, and those of third parties are wrong in a dozen places.
const zookeeper = createRequire(import.meta.url)('node-zookeeper-client');
const { EPHEMERAL, EPHEMERAL_SEQUENTIAL } = zookeeper.CreateMode;

/** node-zookeeper-client with promises, for recipes without a library. */
export class RawClient {
  /** @type {any} */
  #client;

  /** @param {any} client */
  constructor(client) {
    this.#client = client;
  }

  /**
   * @param {string} connect
   * @param {number} sessionTimeoutMs
   * @returns {Promise<RawClient>}
   */
  static open(connect, sessionTimeoutMs) {
    const client = zookeeper.createClient(connect, { sessionTimeout: sessionTimeoutMs });
    return new Promise((resolve) => {
      client.once('connected', () => resolve(new RawClient(client)));
      client.connect();
    });
  }

  /** @param {string} path @returns {Promise<string>} the path with its sequence number */
  createSequential(path) {
    return promisify(this.#client.create.bind(this.#client))(path, null, EPHEMERAL_SEQUENTIAL);
  }

  /** @param {string} path @returns {Promise<boolean>} whether it was created; `false` if it exists */
  async createEphemeral(path) {
    try {
      await promisify(this.#client.create.bind(this.#client))(path, null, EPHEMERAL);
      return true;
    } catch (error) {
      if (/** @type {any} */ (error).name === 'NODE_EXISTS') return false;
      throw error;
    }
  }

  /** @param {string} path */
  async createPersistent(path) {
    await promisify(this.#client.create.bind(this.#client))(path);
  }

  /** @param {string} path @param {() => void} [onChange] @returns {Promise<string[]>} */
  children(path, onChange) {
    return promisify(this.#client.getChildren.bind(this.#client))(path, onChange);
  }

  /** @param {string} path @param {() => void} onChange @returns {Promise<boolean>} */
  async exists(path, onChange) {
    const stat = await promisify(this.#client.exists.bind(this.#client))(path, onChange);
    return stat !== undefined && stat !== null;
  }

  /** @param {string} path */
  async remove(path) {
    await promisify(this.#client.remove.bind(this.#client))(path);
  }

  close() {
    /** @type {Promise<void>} */
    const closed = new Promise((resolve) => this.#client.once('disconnected', resolve));
    this.#client.close();
    return closed;
  }
}

import { Child } from '../../harness/child.mjs';

/** @import { ShardEvent } from './history.mjs' */

const SCRIPT = new URL('../processes/shard-group.mjs', import.meta.url);

/** A group of shards whose members are in one process of their own, a session each. */
export class Group {
  #child = new Child(SCRIPT);
  #options;
  shards;

  /** @param {{ connect: string, path?: string, shards: number, sessionMs: number }} group */
  constructor({ connect, path = '/group', shards, sessionMs }) {
    this.shards = shards;
    this.#options = {
      ...{ connect, path, shards },
      session: { sessionTimeoutMs: sessionMs },
      guardian: false,
    };
  }

  /**
   * Lets members join at the same time. Resolves when all are members.
   *
   * @param {number} count
   * @returns {Promise<{ beganAt: number, startedAt: number, numbers: number[] }>} `beganAt`, `startedAt`: milliseconds, before the first
   *   `start()` and when the last one had resolved
   */
  async join(count) {
    return await this.#child.ask('start', { count, options: this.#options });
  }

  async untilOwned() {
    await this.#child.ask('untilOwned', { shards: this.shards });
  }

  /** Resolves when the member owns so many shards, and all shards have owners. @param {number} member @param {number} count */
  async untilOwns(member, count) {
    await this.#child.ask('untilOwns', { member, count, shards: this.shards });
  }

  /** Lets a member leave. Resolves when the others have its shards. @param {number} member @param {'stop' | 'drain'} how */
  async leave(member, how) {
    await this.#child.ask('leave', { member, how });
    await this.untilOwned();
  }

  /** The events since the last call. @returns {Promise<ShardEvent[]>} */
  async take() {
    return await this.#child.ask('take');
  }

  async end() {
    await this.#child.end();
  }
}

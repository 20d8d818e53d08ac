/**
 * A lower bound for locks on Node: packets that are ready to send, on plain sockets, with as few round trips as possible. It
 * reads little more of the answers than the numbers at the ends of names. No client for Node can be faster on the same servers.
 * `README.md` describes the recipes and the protocol.
 */
import { randomUUID } from 'node:crypto';
import {
  creation,
  deletion,
  EPHEMERAL_SEQUENTIAL,
  isRefused,
  listing,
  nearestAhead,
  PERSISTENT,
  pathIn,
  unwatching,
  watching,
} from './packets.mjs';
import { failLoudly, obey } from './protocol.mjs';
import { clientOf } from './wire.mjs';

/** Paths that were created. @type {Set<string>} */
const created = new Set();

/**
 * @typedef {object} Recipe
 * @property {boolean} knows whether it relies on being first when its predecessor's node is deleted; else it lists the queue
 * @property {boolean} [keeps] whether it sends the requests that Conclave's guarantees need: names that it can find after a lost reply,
 *   and a watch on its own node, which it removes before it deletes the node
 */

/**
 * @param {import('./wire.mjs').Wire} wire
 * @param {string} path
 * @param {Recipe} recipe
 */
function contend(wire, path, { knows, keeps = false }) {
  const listed = listing(path);
  const name = keeps ? `_c_${randomUUID()}-lock-` : 'n-';
  const joining = Buffer.concat([creation(`${path}/${name}`, EPHEMERAL_SEQUENTIAL), listed]);
  let own = '';
  let release = Buffer.alloc(0);
  let releaseAnswers = 1;
  let left = false;

  return {
    async join() {
      if (!created.has(path)) await wire.ask(1, creation(path, PERSISTENT)); // Fails if the node exists.
      created.add(path);
      const [reply, list] = /** @type {[Buffer, Buffer]} */ (await wire.ask(2, joining));
      own = pathIn(reply);
      const ownName = Buffer.from(own);
      release = deletion(own);
      releaseAnswers = 1;
      let ahead = nearestAhead(list, ownName);
      if (keeps && ahead !== undefined) {
        release = Buffer.concat([unwatching(own), release]);
        releaseAnswers = 2;
        await wire.ask(1, watching(own));
      }
      while (ahead !== undefined) {
        const gone = wire.event();
        const [seen] = /** @type {[Buffer]} */ (await wire.ask(1, watching(`${path}/${ahead}`)));
        if (!isRefused(seen)) await gone;
        if (left) return await new Promise(() => undefined);
        if (knows) break;
        const [now] = /** @type {[Buffer]} */ (await wire.ask(1, listed));
        ahead = nearestAhead(now, ownName);
      }
    },
    release: () => wire.ask(releaseAnswers, release),
    async leave() {
      left = true;
      await wire.ask(1, deletion(own)); // Fails if it has held.
    },
  };
}

const client = clientOf(contend);
failLoudly(
  obey({
    lock: client({ knows: false }),
    'lock-known': client({ knows: true }),
    'lock-kept': client({ knows: false, keeps: true }),
    'lock-kept-known': client({ knows: true, keeps: true }),
  }),
);

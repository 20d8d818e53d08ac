/**
 * A lower bound for elections on Node: packets that are ready to send, on plain sockets. A contender without a predecessor claims the
 * term. A leader that steps down lists the queue, and writes the next contender into the record as its holder, in the transaction that
 * deletes its own node. `README.md` describes the recipes and the protocol.
 */
import { randomUUID } from 'node:crypto';
import {
  bytesIn,
  creation,
  deletion,
  EPHEMERAL,
  EPHEMERAL_SEQUENTIAL,
  isRefused,
  listing,
  nearestAhead,
  nearestBehind,
  PERSISTENT,
  part,
  pathIn,
  reading,
  transaction,
  unwatching,
  versionIn,
  watching,
} from './packets.mjs';
import { failLoudly, obey } from './protocol.mjs';
import { clientOf } from './wire.mjs';

/** As long as an election's record with a leader, and without one. */
const HELD = Buffer.alloc(200, ' ');
const VACANT = Buffer.alloc(40, ' ');

/** By path: resolves when the first contender of this process leads. @type {Map<string, Promise<unknown>>} */
const begun = new Map();

/**
 * @typedef {object} Recipe
 * @property {boolean} [keeps] whether it sends the requests that Conclave's guarantees need: a watch on its own node, which it removes
 *   before it deletes the node, a heartbeat node, and a check of the next contender's node
 */

/**
 * @param {import('./wire.mjs').Wire} wire
 * @param {string} path
 * @param {Recipe} recipe
 */
function contend(wire, path, { keeps = false }) {
  const ownId = randomUUID();
  const heartbeatNode = `${path}/_h_${ownId}`;
  const readRecord = reading(path);
  const listed = listing(path);
  const joining = Buffer.concat([
    creation(`${path}/_c_${ownId}-lock-`, EPHEMERAL_SEQUENTIAL),
    listed,
    readRecord,
  ]);
  const begins = Buffer.concat([creation(heartbeatNode, EPHEMERAL), readRecord]); // Its lease begins with its first heartbeat.
  let own = '';
  let version = 0; // Of the record.
  let beats = false; // Whether its heartbeat node exists.
  let isWatched = false; // Whether it watches its own node.
  let left = false;

  async function begin() {
    await wire.ask(1, creation(path, PERSISTENT)); // Fails if the node exists.
    await enter();
  }

  /** Joins, and resolves when it leads. */
  async function enter() {
    const [created, list, record] = /** @type {[Buffer, Buffer, Buffer]} */ (await wire.ask(3, joining));
    own = pathIn(created);
    const ahead = nearestAhead(list, Buffer.from(own));
    if (ahead === undefined) return await claim(versionIn(record));
    if (keeps) await wire.ask(1, watching(own));
    isWatched = keeps;
    const event = wire.event();
    const [seen] = /** @type {[Buffer]} */ (await wire.ask(1, watching(`${path}/${ahead}`)));
    if (!isRefused(seen)) await event; // Otherwise that node was already gone.
    if (left) return await new Promise(() => undefined);
    await takeUp();
  }

  /** @param {number} readAt the version at which the record was read */
  async function claim(readAt) {
    const parts = [part.check(own), part.set(path, HELD, readAt)];
    if (keeps && !beats) parts.push(part.create(heartbeatNode, EPHEMERAL));
    const [reply] = /** @type {[Buffer]} */ (await wire.ask(1, transaction(...parts)));
    if (isRefused(reply)) throw new Error(`the record isn't at version ${readAt}`);
    beats = keeps;
    version = readAt + 1;
  }

  /** Leads, if the record says so. Otherwise the predecessor saw no contender behind it. */
  async function takeUp() {
    const replies = await wire.ask(keeps ? 2 : 1, keeps ? begins : readRecord);
    const record = /** @type {Buffer} */ (replies.at(-1));
    beats = keeps;
    version = versionIn(record);
    if (bytesIn(record) === VACANT.length) await claim(version);
  }

  return {
    async join() {
      const first = begun.get(path);
      if (first !== undefined) {
        await first;
        return await enter();
      }
      const beginning = begin();
      begun.set(path, beginning);
      await beginning;
    },
    async release() {
      const [list] = /** @type {[Buffer]} */ (await wire.ask(1, listed));
      const next = nearestBehind(list, Buffer.from(own));
      const parts = [part.delete(own), part.set(path, next === undefined ? VACANT : HELD, version)];
      if (keeps && next !== undefined) parts.push(part.check(`${path}/${next}`));
      if (beats) parts.push(part.delete(heartbeatNode));
      const packets = [transaction(...parts)];
      if (isWatched) packets.unshift(unwatching(own));
      [beats, isWatched] = [false, false];
      const replies = await wire.ask(packets.length, Buffer.concat(packets));
      if (isRefused(/** @type {Buffer} */ (replies.at(-1)))) throw new Error('the release was refused');
    },
    async leave() {
      left = true;
      await wire.ask(1, deletion(own)); // Fails if it has led.
    },
  };
}

const client = clientOf(contend);
failLoudly(obey({ election: client({}), 'election-kept': client({ keeps: true }) }));

/**
 * A lower bound for elections on Node: packets that are ready to send, on plain sockets. A leader that steps down writes the
 * next contender into the record as its holder, in the transaction that deletes its own node. Where there is no other contender, one
 * write creates the node and claims the term. `README.md` describes the recipes and the protocol.
 */
import { randomUUID } from 'node:crypto';
import {
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
import { openWire } from './wire.mjs';

/** As long as an election's record with a leader, and without one. */
const HELD = Buffer.alloc(200, ' ');
const VACANT = Buffer.alloc(40, ' ');

/**
 * The state of an election. All of its contenders are in this process.
 *
 * @typedef {object} Election
 * @property {Promise<unknown>} begun resolves when the first contender leads
 * @property {number} version of the record
 * @property {Promise<unknown>} allWatch resolves when all contenders that have begun to join watch for the notification that
 *   they lead: a contender without that watch would miss a signal
 * @property {boolean} isDeserted whether the record is vacant, and no contender is there
 * @property {(list: Buffer) => void} [onNext] tells the first leader, by a listing, which contender is next
 */

/** By path. @type {Map<string, Election>} */
const elections = new Map();

/**
 * @typedef {object} Recipe
 * @property {boolean} told whether a signal tells the next contender that it leads; else the contender sees that its predecessor's node
 *   is deleted, and reads the record
 * @property {boolean} [keeps] whether it sends the requests that Conclave's guarantees need: a watch on its own node, which it removes
 *   before it deletes the node, a heartbeat node, and a check of the next contender's node
 */

/** @param {Recipe} recipe */
const client = (recipe) => async (/** @type {string} */ servers, /** @type {number} */ sessionTimeoutMs) => {
  const wire = await openWire(servers, sessionTimeoutMs);
  return {
    contender: (/** @type {string} */ path) => contend(wire, path, recipe),
    close: async () => void wire.socket.destroy(),
  };
};

/**
 * @param {import('./wire.mjs').Wire} wire
 * @param {string} path
 * @param {Recipe} recipe
 */
function contend(wire, path, { told, keeps = false }) {
  const ownId = randomUUID();
  const heartbeatNode = `${path}/_h_${ownId}`;
  const readRecord = reading(path);
  const listed = listing(path);
  const turn = Buffer.concat([readRecord, listed]);
  let own = '';
  let beats = false; // Whether its heartbeat node exists.
  let isWatched = false; // Whether it watches its own node.
  let left = false;
  let hasNext = false;
  let release = Buffer.alloc(0);
  let answers = 1;
  let prepared = Promise.resolve();

  const election = () => /** @type {Election} */ (elections.get(path));

  async function begin() {
    await wire.ask(1, creation(path, PERSISTENT)); // Fails if the node exists.
    await claim();
  }

  /** Joins and claims in one write. */
  async function claim() {
    own = `${path}/_c_${ownId}-lock-0000000000`;
    const [record] = /** @type {[Buffer]} */ (await wire.ask(1, readRecord));
    const version = versionIn(record);
    const nodes = keeps ? [own, heartbeatNode] : [own];
    const creations = nodes.map((node) => part.create(node, EPHEMERAL));
    const claiming = transaction(...creations, part.set(path, HELD, version));
    const [reply] = /** @type {[Buffer]} */ (await wire.ask(1, claiming));
    if (isRefused(reply)) throw new Error(`the record isn't at version ${version}`);
    beats = keeps;
    Object.assign(election(), { version: version + 1, isDeserted: false });
    prepare(undefined); // In case it stays alone.
    election().onNext = prepare;
  }

  /**
   * Joins behind others, and resolves when it watches for its notification. `notified` resolves when a signal tells it that it leads, or
   * when its predecessor's node is deleted. It is undefined if that node was already gone.
   */
  async function joinBehind() {
    const joining = Buffer.concat([creation(`${path}/_c_${ownId}-lock-`, EPHEMERAL_SEQUENTIAL), listed]);
    const [reply, list] = /** @type {[Buffer, Buffer]} */ (await wire.ask(2, joining));
    own = pathIn(reply);
    if (keeps) await wire.ask(1, watching(own));
    isWatched = keeps;
    if (keeps && told) await wire.ask(1, creation(heartbeatNode, EPHEMERAL));
    beats = keeps && told;
    const event = wire.event();
    const ahead = nearestAhead(list, Buffer.from(own));
    if (ahead?.toString().endsWith('-0000000000')) election().onNext?.(list);
    const [seen] = /** @type {[Buffer]} */ (
      await wire.ask(1, watching(told ? signalOf(own) : `${path}/${ahead}`))
    );
    return { notified: told || !isRefused(seen) ? event : undefined };
  }

  /** Begins to lead, and finds out which contender is next. */
  async function takeUp() {
    const begins = keeps && !beats; // Its lease begins with its first heartbeat.
    beats ||= begins;
    const { some, all } = begins
      ? wire.askInTurn(3, Buffer.concat([readRecord, creation(heartbeatNode, EPHEMERAL), listed]), 2)
      : wire.askInTurn(2, turn);
    prepared = all.then((replies) => prepare(replies.at(-1)));
    if (!told) await some;
  }

  /** Makes the release ready to be sent. @param {Buffer | undefined} list */
  function prepare(list) {
    const next = list && nearestBehind(list, Buffer.from(own));
    hasNext = next !== undefined;
    const { version } = election();
    const parts = [part.delete(own), part.set(path, hasNext ? HELD : VACANT, version)];
    if (next !== undefined) {
      const node = `${path}/${next}`;
      if (told || keeps) parts.unshift(part.create(signalOf(node), PERSISTENT), part.delete(signalOf(node)));
      if (keeps) parts.push(part.check(node));
    }
    if (beats) parts.push(part.delete(heartbeatNode));
    release = transaction(...parts);
    answers = 1;
    if (isWatched) {
      release = Buffer.concat([unwatching(own), release]);
      answers = 2;
    }
  }

  return {
    async join() {
      const known = elections.get(path);
      if (known === undefined) {
        const begun = begin();
        elections.set(path, { begun, version: 0, allWatch: begun, isDeserted: false });
        return await begun;
      }
      await known.begun;
      if (known.isDeserted) return await claim();
      const joined = joinBehind();
      known.allWatch = Promise.all([known.allWatch, joined]);
      await (await joined).notified;
      if (left) return await new Promise(() => undefined);
      await takeUp();
    },
    async release() {
      await prepared;
      if (told) await election().allWatch;
      const { version } = election();
      Object.assign(election(), { version: version + 1, isDeserted: !hasNext }); // Before the answer, because the next contender is notified earlier.
      const replies = await wire.ask(answers, release);
      if (isRefused(/** @type {Buffer} */ (replies.at(-1)))) throw new Error('the release was refused');
    },
    async leave() {
      left = true;
      await prepared; // One request at a time.
      await wire.ask(1, deletion(own)); // Fails if it has led.
    },
  };
}

/** The node that signals to the contender with the given node that it leads. @param {string} node */
function signalOf(node) {
  return `${node.replace('/_c_', '/_b_').replace(/-lock-\d+$/, '')}_0`;
}

failLoudly(
  obey({
    election: client({ told: false }),
    'election-told': client({ told: true }),
    'election-kept': client({ told: false, keeps: true }),
    'election-kept-told': client({ told: true, keeps: true }),
  }),
);

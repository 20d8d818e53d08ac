/**
 * A lower bound for locks and elections on Node: packets that are ready to send, on plain sockets, with as few round trips as
 * possible. Of the answers it reads little more than the numbers at the ends of names. No client for Node can be faster on the
 * same servers. `README.md` describes the recipes and the protocol.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { failLoudly, obey } from './protocol.mjs';
import { bool, frame, int, PING, text, Wire } from './wire.mjs';

const CREATE = 1;
const DELETE = 2;
const EXISTS = 3;
const GET_DATA = 4;
const SET_DATA = 5;
const GET_CHILDREN = 8;
const CHECK = 13;
const TRANSACTION = 14;
const REMOVE_WATCHES = 18;
/** Kinds of watches: for a node's data, and for its existence. */
const DATA_WATCH = 2;
const EPHEMERAL_SEQUENTIAL = 3;
const ALL_PERMISSIONS = 31;
const ANY_VERSION = -1;
/** The header of a reply: xid, zxid, error code. */
const HEADER_BYTES = 16;
const ERROR_AT = 12;
/** Of the version in a stat, behind two transactions and two times. */
const VERSION_AT = 32;
const ZERO = 0x30;
/** The end of a transaction. */
const END = Buffer.concat([int(-1), bool(true), int(-1)]);
/** Of the same lengths as an election's record with a leader, and without. */
const HELD = Buffer.alloc(200, ' ');
const VACANT = Buffer.alloc(40, ' ');

/** Paths that were created. @type {Set<string>} */
const created = new Set();
/** The versions of the elections' records by path, for recipes that know them. @type {Map<string, number>} */
const versions = new Map();

/**
 * @typedef {object} Recipe
 * @property {boolean} knows whether it takes for granted that it is first when its predecessor's node is deleted; else it lists
 * @property {boolean} claims whether it claims a term in a record by a transaction, and releases it by another one
 * @property {boolean} [keeps] whether it gives Conclave's guarantees, and so sends what Conclave sends: names that can be found
 *   after a lost reply, a watch on its own node, removed before the node is deleted, transactions that check the node
 */

/** @param {Recipe} recipe */
const client = (recipe) => async (/** @type {string} */ servers, /** @type {number} */ sessionTimeoutMs) => {
  const [host, port] = servers.split(/[:,]/); // The first server.
  const wire = new Wire(/** @type {string} */ (host), Number(port));
  await once(wire.socket, 'connect');
  // The connect request: no version, transaction or session yet; an empty password of 16 bytes.
  await wire.ask(
    1,
    frame(int(0), Buffer.alloc(8), int(sessionTimeoutMs), Buffer.alloc(8), int(16), Buffer.alloc(16)),
  );
  setInterval(() => wire.socket.write(PING), sessionTimeoutMs / 3).unref();
  return {
    contender: (/** @type {string} */ path) => contend(wire, path, recipe),
    close: async () => void wire.socket.destroy(),
  };
};

/**
 * @param {Wire} wire
 * @param {string} path
 * @param {Recipe} recipe
 */
function contend(wire, path, { knows, claims, keeps = false }) {
  const listing = frame(int(2), int(GET_CHILDREN), text(path), bool(false));
  const looking = claims
    ? Buffer.concat([listing, frame(int(2), int(GET_DATA), text(path), bool(false))])
    : listing;
  const answers = claims ? 2 : 1;
  const joining = Buffer.concat([
    creation(`${path}/${keeps ? `_c_${randomUUID()}-lock-` : 'n-'}`, EPHEMERAL_SEQUENTIAL),
    looking,
  ]);
  const watching = (/** @type {Buffer} */ name) =>
    frame(int(4), int(EXISTS), text(Buffer.concat([Buffer.from(`${path}/`), name])), bool(true));
  /** @type {Buffer} */
  let own;
  /** Claim and release of a term, without the record's version. @type {Buffer} */
  let claim;
  /** @type {Buffer} */
  let release;
  let releaseAnswers = 1;
  let left = false;

  /** Sends packets, of which the last one is the transaction. @param {Buffer} packets @param {number} count */
  const write = async (packets, count) => {
    const version = versions.get(path) ?? 0;
    packets.writeInt32BE(version, packets.length - END.length - 4);
    const asking = wire.ask(count, packets);
    versions.set(path, version + 1); // The next contender is notified before this one has its answer.
    const reply = /** @type {Buffer} */ ((await asking).at(-1));
    if (reply.readInt32BE(ERROR_AT) !== 0) throw new Error(`the record isn't at version ${version}`);
  };
  const makeReady = () => {
    const onNode = (/** @type {number} */ code) => Buffer.concat([part(code), own, int(ANY_VERSION)]);
    const onRecord = (/** @type {Buffer} */ data) =>
      Buffer.concat([part(SET_DATA), text(path), text(data), int(0)]);
    const deleting = keeps ? [onNode(CHECK), onNode(DELETE)] : [onNode(DELETE)];
    claim = transaction(onNode(CHECK), onRecord(HELD));
    release = claims
      ? transaction(...deleting, onRecord(VACANT))
      : frame(int(3), int(DELETE), own, int(ANY_VERSION));
  };
  /** Watches its own node until the release. */
  const watchOwn = () => {
    release = Buffer.concat([frame(int(6), int(REMOVE_WATCHES), own, int(DATA_WATCH)), release]);
    releaseAnswers = 2;
    return wire.ask(1, frame(int(4), int(EXISTS), own, bool(true)));
  };

  return {
    async join() {
      if (!created.has(path)) await wire.ask(1, creation(path, 0)); // Fails if the node exists.
      created.add(path);
      const [reply, list, read] = /** @type {Buffer[]} */ (await wire.ask(1 + answers, joining));
      own = /** @type {Buffer} */ (reply).subarray(HEADER_BYTES);
      makeReady();
      let ahead = nearestAhead(list, own);
      if (ahead === undefined && read !== undefined) versions.set(path, versionOf(read));
      if (keeps && ahead !== undefined) await watchOwn();
      while (ahead !== undefined) {
        const gone = wire.event();
        const [seen] = /** @type {[Buffer]} */ (await wire.ask(1, watching(ahead)));
        if (seen.readInt32BE(ERROR_AT) === 0) await gone;
        if (left) return await new Promise(() => undefined);
        if (knows) break;
        const [now, record] = await wire.ask(answers, looking);
        ahead = nearestAhead(now, own);
        if (record !== undefined) versions.set(path, versionOf(record));
      }
      if (claims) await write(claim, 1);
    },
    release: () => (claims ? write(release, releaseAnswers) : wire.ask(releaseAnswers, release)),
    async leave() {
      left = true;
      await wire.ask(1, frame(int(3), int(DELETE), own, int(ANY_VERSION))); // Fails if it has held.
    },
  };
}

/** @param {string} node @param {number} flags */
function creation(node, flags) {
  return frame(
    int(1),
    int(CREATE),
    text(node),
    int(0),
    int(1),
    int(ALL_PERMISSIONS),
    text('world'),
    text('anyone'),
    int(flags),
  );
}

/** @param {Buffer[]} parts */
function transaction(...parts) {
  return frame(int(5), int(TRANSACTION), ...parts, END);
}

/** The header of a transaction's part: operation, not the end, no error. @param {number} code */
function part(code) {
  return Buffer.concat([int(code), bool(false), int(-1)]);
}

/** The version in the stat of a node that was read. @param {Buffer} read */
function versionOf(read) {
  const dataBytes = Math.max(0, read.readInt32BE(HEADER_BYTES));
  return read.readInt32BE(HEADER_BYTES + 4 + dataBytes + VERSION_AT);
}

/** The name of the predecessor of `own` in a listing, if there is one. @param {Buffer | undefined} listing @param {Buffer} own */
function nearestAhead(listing = Buffer.alloc(0), own) {
  const number = numberAt(own, own.length);
  let nearest = -1;
  /** @type {Buffer | undefined} */
  let name;
  for (let at = HEADER_BYTES + 4; at < listing.length; ) {
    const start = at + 4;
    at = start + listing.readInt32BE(at);
    const other = numberAt(listing, at);
    if (other >= number || other <= nearest) continue;
    nearest = other;
    name = listing.subarray(start, at);
  }
  return name;
}

/** The ten digits before `end`. @param {Buffer} bytes @param {number} end */
function numberAt(bytes, end) {
  let number = 0;
  for (let at = end - 10; at < end; at++) number = number * 10 + (bytes[at] ?? 0) - ZERO;
  return number;
}

failLoudly(
  obey({
    lock: client({ knows: false, claims: false }),
    'lock-known': client({ knows: true, claims: false }),
    election: client({ knows: false, claims: true }),
    'election-known': client({ knows: true, claims: true }),
    'lock-kept': client({ knows: false, claims: false, keeps: true }),
    'lock-kept-known': client({ knows: true, claims: false, keeps: true }),
    'election-kept': client({ knows: false, claims: true, keeps: true }),
    'election-kept-known': client({ knows: true, claims: true, keeps: true }),
  }),
);

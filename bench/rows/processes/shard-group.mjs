/** A process with many members of one group of shards, which notes what happens to each shard, and when. */
import { EventEmitter, once } from 'node:events';
import { ShardSupervisor } from 'conclave';
import { serve } from '../../harness/child.mjs';
import { now } from '../../harness/clock.mjs';

/** @import { ShardEvent } from '../shards/history.mjs' */

const PATIENCE_MS = 60_000;
/** The members by their numbers. A member that has left keeps its number. @type {ShardSupervisor[]} */
const members = [];
/** The events since the last `take`. @type {ShardEvent[]} */
let events = [];
/** The member that owns each shard. @type {Map<string, number>} */
const owners = new Map();
const changes = new EventEmitter().setMaxListeners(0);

/** @param {number} member @param {string} shard @param {ShardEvent['kind']} kind */
function note(member, shard, kind) {
  events.push({ member, shard, kind, atMs: now() });
  if (kind === 'acquired') owners.set(shard, member);
  else if (owners.get(shard) === member) owners.delete(shard);
  changes.emit('change');
}

/** @param {import('conclave').ShardSupervisorOptions} options @returns {number} the member's number */
function add(options) {
  const number = members.length;
  const supervisor = new ShardSupervisor({
    ...options,
    // This work settles as soon as the shard's signal aborts.
    run: (shard) => new Promise((resolve) => shard.signal.addEventListener('abort', resolve)),
  });
  members.push(supervisor);
  supervisor
    .on('acquired', (shard) => {
      note(number, shard.id, 'acquired');
      shard.signal.addEventListener('abort', () => note(number, shard.id, 'ended'));
    })
    .on('released', (shard) => note(number, shard.id, 'released'))
    .on('lost', (shard) => note(number, shard.id, 'lost'))
    .on('error', (error) => console.error(error));
  return number;
}

/** @param {() => boolean} isMet after an event of a shard @param {string} what */
async function until(isMet, what) {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  try {
    while (!isMet()) await once(changes, 'change', { signal });
  } catch (cause) {
    const why = `not within ${PATIENCE_MS / 1000} s: ${what}; ${owners.size} have an owner`;
    throw new Error(why, { cause });
  }
}

/** @param {number} member */
function ownedBy(member) {
  return [...owners.values()].filter((owner) => owner === member).length;
}

serve({
  /** Starts members at the same time. Answers when all are members of the group. */
  start: async ({ count, options }) => {
    const beganAt = now();
    const numbers = Array.from({ length: count }, () => add(options));
    await Promise.all(numbers.map((number) => members[number]?.start()));
    return { beganAt, startedAt: now(), numbers };
  },
  /** Answers when so many shards have an owner. */
  untilOwned: ({ shards }) => until(() => owners.size === shards, `${shards} shards have an owner`),
  /** Answers when the member owns so many shards, and all shards have an owner. */
  untilOwns: ({ member, count, shards }) =>
    until(
      () => owners.size === shards && ownedBy(member) === count,
      `member ${member} owns ${count} of ${shards}`,
    ),
  /** Lets a member leave, and answers when it has left. `how`: `stop` or `drain`. */
  leave: ({ member, how }) => /** @type {any} */ (members[member])[how](),
  /** Answers with the events of shards since the last call. */
  take: () => {
    const taken = events;
    events = [];
    return taken;
  },
});

/** Summarizes the events of shards after a change of the group's members. */

/**
 * An event of a shard at one member. `ended`: the member must let the shard go, and its work goes on until it has settled. `released` and
 * `lost` come after that.
 *
 * @typedef {object} ShardEvent
 * @property {number} member
 * @property {string} shard
 * @property {'acquired' | 'ended' | 'released' | 'lost'} kind
 * @property {number} atMs
 */

/**
 * @typedef {object} Change
 * @property {{ shard: string, from: number | undefined, to: number, gapMs: number }[]} moved shards that have another owner than before;
 *   `gapMs`: how long they had none
 * @property {number} interrupted the number of shards that had no owner for some time
 * @property {number} eventsOfStayed the number of events of shards that have the same owner as before
 * @property {number} spanMs from the first shard that lost its owner until the last shard that got one; 0 if there is none
 */

/**
 * Compares the owners after some events with those before. All shards must have owners at both times.
 *
 * @param {readonly ShardEvent[]} events of all members, in any order
 * @returns {Change}
 */
export function changeOf(events) {
  const stories = [...storiesOf(events).values()];
  const moved = stories.filter(({ from, to }) => to !== undefined && from !== to);
  const stayed = stories.filter(({ from, to }) => from === to);
  const endedAt = stories.map(({ endedAtMs }) => endedAtMs);
  const acquiredAt = stories.map(({ acquiredAtMs }) => acquiredAtMs);
  return {
    moved: moved.map(({ shard, from, to, endedAtMs, acquiredAtMs }) => ({
      ...{ shard, from, to: /** @type {number} */ (to) },
      gapMs: from === undefined ? 0 : acquiredAtMs - endedAtMs,
    })),
    interrupted: stories.filter(({ endedAtMs }) => Number.isFinite(endedAtMs)).length,
    eventsOfStayed: stayed.reduce((sum, { events: count }) => sum + count, 0),
    spanMs: Math.max(0, Math.max(...acquiredAt) - Math.min(...endedAt)),
  };
}

/**
 * The durations of the moves from one member to another.
 *
 * @param {readonly ShardEvent[]} events
 */
export function gapsOf(events) {
  return changeOf(events).moved.flatMap(({ from, gapMs }) => (from === undefined ? [] : [gapMs]));
}

/** When the last shard got its owner. @param {readonly ShardEvent[]} events */
export function lastAcquiredAt(events) {
  return Math.max(...events.flatMap(({ kind, atMs }) => (kind === 'acquired' ? [atMs] : [])));
}

/** @param {readonly ShardEvent[]} events */
function storiesOf(events) {
  /**
   * `from`: its owner before; `to`: its last one.
   * @type {Map<string, { shard: string, events: number, from: number | undefined, to: number | undefined, endedAtMs: number, acquiredAtMs: number }>}
   */
  const stories = new Map();
  for (const { member, shard, kind, atMs } of [...events].sort((a, b) => a.atMs - b.atMs)) {
    const story = stories.get(shard) ?? {
      ...{ shard, events: 0, from: undefined, to: undefined },
      ...{ endedAtMs: Number.POSITIVE_INFINITY, acquiredAtMs: Number.NEGATIVE_INFINITY },
    };
    stories.set(shard, story);
    if (kind === 'ended' && !Number.isFinite(story.endedAtMs)) {
      story.endedAtMs = atMs;
      if (story.to === undefined) story.from = member;
    }
    if (kind === 'acquired') {
      story.to = member;
      story.acquiredAtMs = atMs;
    }
    story.events++;
  }
  return stories;
}

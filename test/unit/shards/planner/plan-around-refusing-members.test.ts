import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plan } from '../../../../src/shards/planner/balanced-plan.js';
import { type AssignmentInput, assign } from '../../../../src/shards/planner/plan-around-refusing-members.js';

const named = (count: number, prefix = '') => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
const able = (id: string, refuses: readonly string[] = [], weight = 1) => ({
  ...{ id, weight, refuses: new Set(refuses) },
});
const idsOwning = (assigned: ReadonlyMap<string, string>, id: string) =>
  [...assigned].filter(([, owner]) => owner === id).map(([shard]) => shard);

/** Groups of up to 40 shards and 6 members that refuse some of them. */
const groups: fc.Arbitrary<AssignmentInput> = fc.integer({ min: 0, max: 40 }).chain((count) => {
  const shards = named(count);
  const someShards = fc.oneof(fc.constant([]), fc.subarray(shards));
  const member = fc.record({
    id: fc.constantFrom(...named(6, 'm')),
    weight: fc.integer({ min: 1, max: 5 }),
    refuses: someShards.map((refused) => new Set(refused)),
  });
  return fc.record({
    shards: fc.constant(shards),
    members: fc.uniqueArray(member, { selector: ({ id }) => id }),
    owners: mapOf(count),
    homes: mapOf(count, 2),
    pins: mapOf(count, 2),
  });
});

function mapOf(count: number, rarity = 1) {
  const entry = fc.option(fc.constantFrom(...named(8, 'm')), { nil: undefined, freq: rarity });
  return fc
    .array(entry, { minLength: count, maxLength: count })
    .map((ids) => new Map(ids.flatMap((id, at) => (id === undefined ? [] : [[String(at), id]]))));
}

describe('an assignment', () => {
  it('gives each shard that not all refuse to a member that doesn’t refuse it, and no other shard to any', () => {
    fc.assert(
      fc.property(groups, (input) => {
        const assigned = assign(input);
        for (const shard of input.shards) {
          const able = input.members.filter(({ refuses }) => !refuses.has(shard)).map(({ id }) => id);
          if (able.length === 0) expect(assigned.has(shard)).toBe(false);
          else expect(able).toContain(assigned.get(shard));
        }
      }),
    );
  });

  it('gives a pinned shard to its member, if that is there and doesn’t refuse it', () => {
    fc.assert(
      fc.property(groups, (input) => {
        const assigned = assign(input);
        for (const [shard, id] of input.pins ?? []) {
          const member = input.members.find((each) => each.id === id);
          if (member?.refuses.has(shard) === false) expect(assigned.get(shard)).toBe(id);
        }
      }),
    );
  });

  it('is the plan where no member refuses any', () => {
    const willing = groups.map(({ members, ...rest }) => ({
      ...rest,
      members: members.map(({ id, weight }) => able(id, [], weight)),
    }));
    fc.assert(
      fc.property(willing, (input) => {
        expect(assign(input)).toEqual(plan(input));
      }),
    );
  });

  it('moves no shard that its owner doesn’t refuse, but for those that the plan moves to a member that takes them', () => {
    fc.assert(
      fc.property(groups, (input) => {
        const takes = (shard: string, id: string) =>
          input.members.some((member) => member.id === id && !member.refuses.has(shard));
        const pins = new Map([...(input.pins ?? [])].filter(([shard, id]) => takes(shard, id)));
        const offered = { ...input, pins, shards: [...assign(input).keys()] };
        const planned = plan(offered);
        for (const [shard, id] of assign(input)) {
          const owner = input.members.find((member) => member.id === input.owners.get(shard));
          if (owner === undefined || owner.refuses.has(shard) || owner.id === id) continue;
          expect(planned.get(shard)).toBe(id);
        }
      }),
    );
  });

  it('is the same in whatever order members are', () => {
    const shuffled = groups.chain((input) =>
      fc.tuple(
        fc.constant(input),
        fc.shuffledSubarray([...input.members], { minLength: input.members.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([input, members]) => {
        expect([...assign({ ...input, members })]).toEqual([...assign(input)]);
      }),
    );
  });

  it('gives what a member refuses to the others by their weights', () => {
    const owners = new Map(named(12).map((shard) => [shard, 'a']));
    const members = [able('a', named(12)), able('b'), able('c', [], 2)];
    const assigned = assign({ shards: named(12), members, owners });
    expect(['a', 'b', 'c'].map((id) => idsOwning(assigned, id).length)).toEqual([0, 4, 8]);
    for (const unit of [2 ** 1022, Number.MIN_VALUE]) {
      const extreme = members.map((member) => ({ ...member, weight: member.weight * unit }));
      expect(assign({ shards: named(12), members: extreme, owners })).toEqual(assigned);
    }
  });

  it('moves one shard alone that its owner refuses', () => {
    const shards = named(9);
    const owners = new Map(shards.map((shard, at) => [shard, ['a', 'b', 'c'][at % 3] as string]));
    const assigned = assign({ shards, owners, members: [able('a', ['3']), able('b'), able('c')] });
    expect([...assigned].filter(([shard, id]) => owners.get(shard) !== id)).toEqual([['3', 'b']]);
  });

  it('moves nothing when it is made again', () => {
    fc.assert(
      fc.property(groups, (input) => {
        const assigned = assign(input);
        expect([...assign({ ...input, owners: assigned })]).toEqual([...assigned]);
      }),
      { numRuns: 1000 },
    );
  });

  it('gives a member no shard of another one in the place of one that it refuses', () => {
    const shards = named(8);
    const owners = new Map(shards.map((shard, at) => [shard, at < 4 ? 'a' : 'b']));
    const members = [able('a', ['1', '2', '3']), able('b')];
    const assigned = assign({ shards, members, owners });
    expect(idsOwning(assigned, 'a')).toEqual(['0']);
    const later = assign({ shards, members, owners: assigned, pins: new Map([['0', 'a']]) });
    expect(idsOwning(later, 'a')).toEqual(['0']);
    const third = [...members, able('c')];
    const joined = assign({ shards, members: third, owners: assigned });
    expect(['a', 'b', 'c'].map((id) => idsOwning(joined, id).length)).toEqual([1, 5, 2]);
    // When it refuses none any more, it gets its share again.
    expect(
      idsOwning(assign({ shards, members: [able('a'), able('b')], owners: assigned }), 'a'),
    ).toHaveLength(4);
  });

  it('gives a member that is awaited only those of its shards that have no owner', () => {
    const withAwaited = groups.map((input) => ({
      ...input,
      awaited: named(8, 'm')
        .filter((id) => !input.members.some((member) => member.id === id))
        .slice(0, 3)
        .map((id) => ({ id, weight: 2 })),
      owners: new Map([...input.owners].filter(([, id]) => input.members.some((member) => member.id === id))),
    }));
    fc.assert(
      fc.property(withAwaited, (input) => {
        const away = new Set(input.awaited.map(({ id }) => id));
        for (const [shard, id] of assign(input)) {
          if (!away.has(id)) continue;
          expect(input.homes?.get(shard)).toBe(id);
          expect(input.owners.has(shard)).toBe(false);
        }
      }),
    );
  });

  it('moves nothing because a member is away that is awaited, whatever the weights are', () => {
    const sizes = fc.tuple(
      fc.integer({ min: 1, max: 60 }),
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 8 }),
      fc.nat(7),
    );
    fc.assert(
      fc.property(sizes, ([count, weights, at]) => {
        const shards = named(count);
        const members = weights.map((weight, member) => able(`m${member}`, [], weight));
        const before = plan({ shards, members });
        const away = members[at % members.length] as (typeof members)[number];
        const owners = new Map([...before].filter(([, id]) => id !== away.id));
        const homes = new Map([...before].filter(([, id]) => id === away.id));
        const others = members.filter((member) => member !== away);
        const assigned = assign({ shards, members: others, awaited: [away], owners, homes });
        expect(assigned).toEqual(before);
      }),
      { examples: [[[8, [1, 1, 1, 1, 1, 5, 1], 6]]] }, // One that owned nothing.
    );
  });

  it('leaves a shard of a member that is awaited to its pin, and to the one that owns it', () => {
    const input = { shards: named(4), members: [able('a'), able('b')], awaited: [{ id: 'c', weight: 1 }] };
    const homes = new Map([
      ['2', 'c'],
      ['3', 'c'],
    ]);
    const owners = new Map([
      ['0', 'a'],
      ['1', 'b'],
      ['2', 'a'],
    ]);
    expect(assign({ ...input, owners, homes }).get('2')).toBe('a');
    expect(assign({ ...input, owners, homes }).get('3')).toBe('c');
    expect(assign({ ...input, owners, homes, pins: new Map([['3', 'b']]) }).get('3')).toBe('b');
    expect(assign({ ...input, owners, homes, pins: new Map([['0', 'c']]) }).get('0')).toBe('a');
  });
});

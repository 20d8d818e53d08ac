import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PlanInput, type PlanMember, plan } from '../../../../src/shards/planner/balanced-plan.js';

const named = (count: number, prefix = '') => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
const equal = (...ids: string[]): PlanMember[] => ids.map((id) => ({ id, weight: 1 }));
const countsOf = (planned: ReadonlyMap<string, string>, ids: readonly string[]) =>
  ids.map((id) => [...planned.values()].filter((member) => member === id).length);
/** The shards that have another owner now, of those that had one that is still there. */
const movedBy = (planned: ReadonlyMap<string, string>, { owners = new Map(), members }: PlanInput) =>
  [...planned].filter(([shard, to]) => {
    const from = owners.get(shard);
    return from !== to && members.some(({ id }) => id === from);
  });

/** The fewest and the most shards of each member, by whole numbers alone. */
function limitsOf({ shards, members, pins = new Map() }: PlanInput): [number, number][] {
  const pinned = members.map(({ id }) => shards.filter((shard) => pins.get(shard) === id).length);
  let out = new Set<number>();
  for (;;) {
    const sharing = [...members.keys()].filter((at) => !out.has(at));
    const left = shards.length - [...out].reduce((sum, at) => sum + (pinned[at] ?? 0), 0);
    const weights = sharing.reduce((sum, at) => sum + (members[at]?.weight ?? 0), 0);
    const share = (at: number) => left * (members[at]?.weight ?? 0); // Divided by all weights.
    const full = sharing.filter((at) => (pinned[at] ?? 0) * weights > share(at));
    if (full.length === 0)
      return members.map((_, at) => {
        const own = pinned[at] ?? 0;
        if (out.has(at)) return [own, own];
        return [Math.floor(share(at) / weights), Math.ceil(share(at) / weights)];
      });
    out = new Set([...out, ...full]);
  }
}

/** The fewest shards that any plan within the limits moves, by trying all. */
function fewestMoves(input: PlanInput): number {
  const { shards, members, pins = new Map() } = input;
  const limits = limitsOf(input);
  const ids = members.map(({ id }) => id);
  let fewest = Number.POSITIVE_INFINITY;
  for (let number = 0; number < ids.length ** shards.length; number++) {
    const tried = new Map(
      shards.map((shard, at) => [shard, ids[Math.floor(number / ids.length ** at) % ids.length] as string]),
    );
    const fits =
      countsOf(tried, ids).every(
        (count, at) => count >= (limits[at]?.[0] ?? 0) && count <= (limits[at]?.[1] ?? 0),
      ) &&
      shards.every((shard) => !ids.includes(pins.get(shard) ?? '') || tried.get(shard) === pins.get(shard));
    if (fits) fewest = Math.min(fewest, movedBy(tried, input).length);
  }
  return fewest;
}

/** Groups with members of any weight, and owners, homes and pins that may be gone. */
function groups({ shards, members }: { shards: number; members: number }): fc.Arbitrary<PlanInput> {
  const anyOf = (count: number) =>
    fc.record({
      shards: fc.constant(named(count)),
      members: fc.uniqueArray(
        fc.record({ id: fc.constantFrom(...named(members, 'm')), weight: fc.integer({ min: 1, max: 5 }) }),
        {
          selector: ({ id }) => id,
          minLength: 1,
        },
      ),
      ...{ owners: mapOf(count), homes: mapOf(count), pins: mapOf(count, 2) },
    });
  const mapOf = (count: number, rarity = 1) => {
    const entry = fc.option(fc.constantFrom(...named(members, 'm')), { nil: undefined, freq: rarity });
    return fc
      .array(entry, { minLength: count, maxLength: count })
      .map((ids) => new Map(ids.flatMap((id, at) => (id === undefined ? [] : [[String(at), id]]))));
  };
  return fc.integer({ min: 0, max: shards }).chain(anyOf);
}

describe('a plan', () => {
  it('gives each shard one member that is there, and pinned ones theirs', () => {
    fc.assert(
      fc.property(groups({ shards: 60, members: 12 }), (input) => {
        const planned = plan(input);
        expect([...planned.keys()]).toEqual(input.shards);
        const ids = input.members.map(({ id }) => id);
        for (const [shard, id] of planned) {
          expect(ids).toContain(id);
          const pin = input.pins?.get(shard);
          if (pin !== undefined && ids.includes(pin)) expect(id).toBe(pin);
        }
      }),
    );
  });

  it('gives each member its quota, rounded down or up, or only its pins if they are more', () => {
    fc.assert(
      fc.property(groups({ shards: 60, members: 12 }), (input) => {
        const limits = limitsOf(input);
        for (const [at, count] of countsOf(
          plan(input),
          input.members.map(({ id }) => id),
        ).entries()) {
          expect(count).toBeGreaterThanOrEqual(limits[at]?.[0] as number);
          expect(count).toBeLessThanOrEqual(limits[at]?.[1] as number);
        }
      }),
    );
  });

  it('moves as few shards as any plan could', () => {
    fc.assert(
      fc.property(groups({ shards: 6, members: 3 }), (input) => {
        expect(movedBy(plan(input), input)).toHaveLength(fewestMoves(input));
      }),
      { numRuns: 400 },
    );
  });

  it('is the same in whatever order members and maps are, and changes nothing when it is made again', () => {
    const shuffled = groups({ shards: 40, members: 8 }).chain((input) =>
      fc.record({
        input: fc.constant(input),
        members: fc.shuffledSubarray([...input.members], { minLength: input.members.length }),
      }),
    );
    fc.assert(
      fc.property(shuffled, ({ input, members }) => {
        const planned = plan(input);
        const reversed = (map: PlanInput['pins']) => new Map([...(map ?? [])].toReversed());
        const { shards, owners, homes, pins } = input;
        const maps = { owners: reversed(owners), homes: reversed(homes), pins: reversed(pins) };
        expect([...plan({ shards, members, ...maps })]).toEqual([...planned]);
        expect([...plan({ ...input, owners: planned })]).toEqual([...planned]);
      }),
    );
  });

  it('is the same with maps that name shards that are gone, wherever these stand', () => {
    const withGone = groups({ shards: 40, members: 8 }).chain((input) =>
      fc.record({ input: fc.constant(input), gone: fc.array(fc.nat({ max: 80 }), { maxLength: 5 }) }),
    );
    fc.assert(
      fc.property(withGone, ({ input, gone }) => {
        const { shards, members, owners, homes, pins } = input;
        const amid = (map: PlanInput['pins']) => {
          const entries = [...(map ?? [])];
          for (const [number, at] of gone.entries()) entries.splice(at, 0, [`gone ${number}`, 'm0']);
          return new Map(entries);
        };
        const maps = { owners: amid(owners), homes: amid(homes), pins: amid(pins) };
        expect([...plan({ shards, members, ...maps })]).toEqual([...plan(input)]);
      }),
    );
  });

  it('moves to a member that joins its quota, and nothing else, with equal weights', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 20 }), (count, size) => {
        const shards = named(count);
        const members = equal(...named(size, 'm'));
        const input = {
          shards,
          members: [...members, ...equal('a newcomer')],
          owners: plan({ shards, members }),
        };
        const moved = movedBy(plan(input), input);
        expect(moved.map(([, to]) => to)).toEqual(moved.map(() => 'a newcomer'));
        expect(moved).toHaveLength(Math.floor(count / (size + 1)));
      }),
    );
  });

  it('moves the shards of a member that leaves, and nothing else, with equal weights; they come back with it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 2, max: 20 }), (count, size) => {
        const shards = named(count);
        const members = equal(...named(size, 'm'));
        const owners = plan({ shards, members });
        const without = { shards, members: members.slice(1), owners };
        const meanwhile = plan(without);
        expect(movedBy(meanwhile, without)).toEqual([]);
        const homes = new Map([...owners].filter(([, id]) => id === 'm0'));
        const back = plan({ shards, members, owners: meanwhile, homes });
        for (const [shard, id] of back) if (id === 'm0') expect(homes.has(shard)).toBe(true);
      }),
    );
  });

  it('is empty without members, and has no shards where there are none', () => {
    expect(plan({ shards: named(3), members: [] })).toEqual(new Map());
    expect(plan({ shards: [], members: equal('a') })).toEqual(new Map());
  });

  it('takes quotas that are whole but for rounding for whole ones', () => {
    const members = named(9, 'm').map((id) => ({ id, weight: 0.1 }));
    const ids = members.map(({ id }) => id);
    expect(countsOf(plan({ shards: named(9 * 7), members }), ids)).toEqual(ids.map(() => 7));
  });

  it('gives each shard a member whatever the weights are, and is the same if all are doubled again and again', () => {
    const weights = fc.array(fc.double({ min: Number.MIN_VALUE, max: Number.MAX_VALUE, noNaN: true }), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(fc.nat({ max: 60 }), weights, fc.nat({ max: 60 }), (count, each, pinned) => {
        const members = each.map((weight, at) => ({ id: `m${at}`, weight }));
        const pins = new Map(named(pinned).map((shard) => [shard, 'm0']));
        const planned = plan({ shards: named(count), members, pins });
        expect([...planned.keys()]).toEqual(named(count));
        const ids = new Set(members.map(({ id }) => id));
        expect([...planned.values()].filter((id) => !ids.has(id))).toEqual([]);
      }),
    );
    const small = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 8 });
    const exponents = fc.integer({ min: -1070, max: 1013 });
    fc.assert(
      fc.property(fc.nat({ max: 60 }), small, exponents, (count, each, exponent) => {
        const membersOf = (scale: number) =>
          each.map((weight, at) => ({ id: `m${at}`, weight: weight * scale }));
        const shards = named(count);
        expect(plan({ shards, members: membersOf(2 ** exponent) })).toEqual(
          plan({ shards, members: membersOf(1) }),
        );
      }),
    );
  });

  it('shares evenly among members whose weights are too large to add up, or too small to multiply', () => {
    for (const weight of [Number.MAX_VALUE, 1e308, Number.MIN_VALUE]) {
      const members = named(4, 'm').map((id) => ({ id, weight }));
      const planned = plan({ shards: named(8), members });
      expect(countsOf(planned, named(4, 'm'))).toEqual([2, 2, 2, 2]);
    }
    const uneven = [
      { id: 'large', weight: Number.MAX_VALUE },
      { id: 'small', weight: Number.MIN_VALUE },
    ];
    expect(countsOf(plan({ shards: named(8), members: uneven }), ['large', 'small'])).toEqual([8, 0]);
    const pins = new Map(named(8).map((shard) => [shard, 'large']));
    expect(countsOf(plan({ shards: named(9), members: uneven, pins }), ['large', 'small'])).toEqual([9, 0]);
  });

  it.each([
    ['a shard twice', { shards: ['a', 'b', 'a'], members: equal('m') }, /shards is "a"/],
    ['a member twice', { shards: ['a'], members: equal('m', 'm') }, /members is "m"/],
    ['a weight of 0', { shards: ['a'], members: [{ id: 'm', weight: 0 }] }, /weight of m.*0/],
    [
      'no number for a weight',
      { shards: ['a'], members: [{ id: 'm', weight: Number.NaN }] },
      /weight of m.*NaN/,
    ],
  ])('is refused for %s', (_, input, message) => {
    expect(() => plan(input)).toThrow(message);
  });
});

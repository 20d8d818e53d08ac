import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroupView } from '../../../../src/shards/observer/group-view.js';
import { ShardList } from '../../../../src/shards/stored/shard-list.js';
import { idsOf } from '../../../support/conclave/shard-observers.js';

const member = (id: string) => ({ id, weight: 1 });

/** A view of members that own these shards, each since another moment. */
function viewOf(list: ShardList, owned: Readonly<Record<string, readonly number[]>>) {
  const view = new GroupView();
  view.listed(list);
  for (const [at, [id, numbers]] of Object.entries(owned).entries()) {
    view.came(id);
    view.introduced(id, member(id));
    view.published(id, numbers, BigInt(at));
  }
  return view;
}

type Step =
  | { readonly kind: 'list'; readonly count: number | undefined }
  | { readonly kind: 'publish'; readonly node: string; readonly numbers: readonly number[] }
  | { readonly kind: 'introduce' | 'leave'; readonly node: string };

const node = fc.constantFrom('a', 'b', 'c');
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('list' as const),
    count: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('publish' as const), node, numbers: fc.uniqueArray(fc.nat(7)) }),
  fc.record({ kind: fc.constantFrom('introduce' as const, 'leave' as const), node }),
);

/** The same, without any shortcut: who has published what, since when, and who is there. */
class Reference {
  count = 0;
  readonly known = new Map<string, boolean>();
  readonly since = new Map<string, Map<number, number>>();

  take(each: Step, at: number): void {
    if (each.kind === 'list') this.count = each.count ?? 0;
    else if (each.kind === 'leave') {
      this.known.delete(each.node);
      this.since.delete(each.node);
    } else if (each.kind === 'introduce') this.known.set(each.node, true);
    else if (each.kind === 'publish') {
      const before = this.since.get(each.node);
      this.since.set(each.node, new Map(each.numbers.map((number) => [number, before?.get(number) ?? at])));
    }
  }

  get owners(): Record<string, string> {
    const owners: Record<string, string> = {};
    for (let number = 0; number < this.count; number++) {
      const claims = [...this.since].flatMap(([id, numbers]) => {
        const since = numbers.get(number);
        return since === undefined || this.known.get(id) !== true ? [] : [{ id, since }];
      });
      const newest = claims.sort((one, other) => other.since - one.since)[0];
      if (newest !== undefined) owners[String(number)] = newest.id;
    }
    return owners;
  }
}

describe('who owns what by what members publish', () => {
  it('is the same as by looking at all of it, and what has changed is the difference, after any steps', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 40 }), (steps) => {
        const [view, reference] = [new GroupView(), new Reference()];
        const came = new Set<string>();
        let shown: Record<string, string> = {};
        for (const [at, [each, settles]] of steps.entries()) {
          if ('node' in each && each.kind !== 'leave' && came.size !== came.add(each.node).size)
            view.came(each.node);
          if (each.kind === 'list')
            view.listed(each.count === undefined ? undefined : ShardList.of(each.count));
          else if (each.kind === 'publish') view.published(each.node, each.numbers, BigInt(at));
          else if (each.kind === 'introduce') view.introduced(each.node, member(each.node));
          else {
            view.left(each.node);
            came.delete(each.node);
          }
          reference.take(each, at);
          if (!settles) continue;
          const changes = view.settle();
          expect(idsOf(view.owners)).toEqual(reference.owners);
          // A member that has come again is another owner with the same id: then the change shows no difference.
          const expected = Object.fromEntries(
            [...new Set([...Object.keys(shown), ...Object.keys(reference.owners)])]
              .filter((shard) => shown[shard] !== reference.owners[shard] || changes.has(shard))
              .map((shard) => [shard, reference.owners[shard]]),
          );
          expect(idsOf(changes)).toEqual(expected);
          shown = reference.owners;
        }
      }),
    );
  });

  it('changes with a member that comes again', () => {
    const view = viewOf(ShardList.of(1), { first: [0] });
    view.settle();
    const before = view.ownerOf('0');
    view.left('first');
    view.came('again');
    view.introduced('again', member('first'));
    view.published('again', [0], 5n);
    expect(idsOf(view.settle())).toEqual({ 0: 'first' });
    expect(view.ownerOf('0')).not.toBe(before);
  });

  it('goes by the names of the shards, and by another list as soon as there is one', () => {
    const view = viewOf(ShardList.of(['x', 'y', 'z']), { a: [0, 1], b: [2, 3] });
    view.settle();
    expect(idsOf(view.owners)).toEqual({ x: 'a', y: 'a', z: 'b' });
    view.listed(ShardList.of(['x', 'z', 'w', 'v']));
    expect(idsOf(view.settle())).toEqual({ y: undefined, z: 'a', w: 'b', v: 'b' });
    view.listed(undefined);
    expect(idsOf(view.settle())).toEqual({ x: undefined, z: undefined, w: undefined, v: undefined });
  });

  it('is shown in maps that stay as they are', () => {
    const view = viewOf(ShardList.of(1), { a: [0] });
    view.settle();
    const { owners } = view;
    expect(view.owners).toBe(owners);
    view.published('a', [], 3n);
    view.settle();
    expect([owners.size, view.owners.size]).toEqual([1, 0]);
  });

  it('has no member that nothing is known of, and takes nothing from one that isn’t there', () => {
    const view = viewOf(ShardList.of(2), { a: [0] });
    view.came('b');
    view.published('b', [1], 3n);
    view.published('stranger', [1], 4n);
    view.introduced('stranger', member('stranger'));
    view.left('stranger');
    view.settle();
    expect(view.members.map(({ id }) => id)).toEqual(['a']);
    expect(idsOf(view.owners)).toEqual({ 0: 'a' });
  });
});

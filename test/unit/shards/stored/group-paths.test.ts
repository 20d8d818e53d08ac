import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GroupPaths, idOfNodeName, nodeNameOf } from '../../../../src/shards/stored/group-paths.js';

const MEMBER = '_c_0f8fad5b-d9cb-869f-a165-70867728950e-lock-0000000007';

describe('the nodes of a group', () => {
  it('have a name of their own for each shard, that a path may have', () => {
    const id = fc.string({ minLength: 1, unit: 'binary' }).filter((each) => !/\p{Surrogate}/u.test(each));
    fc.assert(
      fc.property(id, id, (one, other) => {
        expect(nodeNameOf(one)).toMatch(/^[\w.!~*'()%-]+$/);
        expect(nodeNameOf(one)).not.toMatch(/^\.\.?$/);
        expect(nodeNameOf(one) === nodeNameOf(other)).toBe(one === other);
        expect(idOfNodeName(nodeNameOf(one))).toBe(one);
      }),
    );
  });

  it.each(['%', '%zz', '%ED%A0%80', 'a b', '%61', '.'])('have the name %j for no shard', (name) => {
    expect(idOfNodeName(name)).toBeUndefined();
  });

  it('are named after a member’s uuid', () => {
    const paths = new GroupPaths('/g');
    expect(paths.planOf(MEMBER)).toBe('/g/plans/0f8fad5b-d9cb-869f-a165-70867728950e');
    expect(paths.ownedOf(MEMBER)).toBe('/g/owned/0f8fad5b-d9cb-869f-a165-70867728950e');
    expect(paths.tombstoneOf(MEMBER)).toBe('/g/tombstones/0f8fad5b-d9cb-869f-a165-70867728950e');
    expect(paths.recordOf('a/b')).toBe('/g/shards/a%2Fb');
    expect(() => paths.planOf('x')).toThrow(TypeError);
  });
});

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { GroupFacts } from '../../../../src/overview/model/group-model.js';
import { OverviewModel } from '../../../../src/overview/model/overview-model.js';
import type { GroupView, LeaderView } from '../../../../src/overview/model/view-types.js';

const ignore = () => undefined;
const openModel = () => new OverviewModel(() => 0, ignore);

function bytesInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

/** Locks with long names come and go, all in one session. */
function comeAndGo(model: OverviewModel, count: number, name: string): void {
  for (let each = 0; each < count; each++) {
    const path = `/locks/${name}-${each}-${'x'.repeat(1000)}`;
    model.lock(path, { name: 'lock', capacity: 1 }, []);
    model.takeBatch();
    model.removed(path);
    model.takeBatch();
  }
}

describe('an overview of what comes and goes', () => {
  it.each([
    ['after everything was read once', true],
    ['before that, however long it takes', false],
  ])('keeps nothing of what is gone, %s', (_, hasReadAll) => {
    const model = openModel();
    model.begin();
    if (hasReadAll) model.readAll();
    comeAndGo(model, 500, 'first'); // The newest transitions are kept.
    const before = bytesInUse();
    comeAndGo(model, 10_000, 'later');
    expect(bytesInUse() - before).toBeLessThan(2_000_000);
    expect(model.state.locks).toEqual([]);
  });

  it('knows no former owner of a shard that its group did not have for a while', () => {
    const model = openModel();
    const groupOf = (shards: readonly string[], id: string): GroupFacts => {
      const owner = { id, weight: 1 };
      return {
        ...{ shards, members: new Map([['node', owner]]), pins: new Map(), planner: undefined },
        ownerOf: () => owner,
      };
    };
    model.begin();
    model.group('/g', groupOf(['a', 'b'], 'one'));
    model.readAll();
    model.group('/g', groupOf(['a'], 'one'));
    model.takeBatch();
    expect(model.state.groups).toMatchObject([{ moves: [] }]);
    model.group('/g', groupOf(['a', 'b'], 'two'));
    model.takeBatch();
    expect((model.state.groups[0] as GroupView).moves.map(({ shard, from }) => [shard, from])).toEqual([
      ['a', 'one'],
      ['b', null],
    ]);
  });

  it('has no heartbeat of an election that is gone', () => {
    const model = openModel();
    const record = { state: 'held', term: 1, node: 'n', leaseMs: 1000, id: 'one', began: 'vacant' } as const;
    const entry = { node: 'n', id: 'n', purpose: 'lock', sequence: 0 } as const;
    model.begin();
    model.election('/e', {
      ...{ record: { record, zxid: 1n, at: 0 }, queue: [entry], listedZxid: 2n, candidates: new Map() },
    });
    model.readAll();
    const [{ leader } = { leader: undefined }] = model.leaders();
    expect(leader?.id).toBe('one');
    if (leader !== undefined) model.beat('/e', leader, 5);
    model.removed('/e');
    expect(model.takeBatch()).toEqual({ removed: ['/e'], transitions: [expect.anything()] });
  });

  it("has no heartbeat of a former leader as the new leader's", () => {
    const model = openModel();
    const lead = (term: number, node: string) => {
      const record = { state: 'held', term, node, leaseMs: 1000, id: node, began: 'vacant' } as const;
      const entry = { node, id: node, purpose: 'lock', sequence: term } as const;
      const zxid = BigInt(term);
      const facts = { queue: [entry], listedZxid: zxid, candidates: new Map() };
      model.election('/e', { record: { record, zxid, at: 0 }, ...facts });
      return model.leaders()[0]?.leader as LeaderView;
    };
    model.begin();
    const former = lead(1, 'one');
    model.readAll();
    model.beat('/e', former, 5);
    lead(2, 'two');
    expect(model.takeBatch()).not.toHaveProperty('heartbeats');
    model.beat('/e', former, 6); // The answer came late.
    expect(model.takeBatch()).toBeUndefined();
  });

  it('has in its state no transition and no move that the next change tells of', () => {
    const model = openModel();
    const groupOf = (id: string): GroupFacts => {
      const owner = { id, weight: 1 };
      const members = new Map([['node', owner]]);
      return { shards: ['a'], members, pins: new Map(), planner: undefined, ownerOf: () => owner };
    };
    model.begin();
    model.group('/g', groupOf('one'));
    model.readAll();
    model.group('/g', groupOf('two'));
    model.lock('/l', { name: 'lock', capacity: 1 }, []);
    expect(model.state).toMatchObject({ transitions: [], groups: [{ members: [{ id: 'one' }], moves: [] }] });
    expect(model.takeBatch()?.transitions).toHaveLength(2);
    expect(model.state.transitions).toHaveLength(2);
    expect(model.state.groups[0]?.moves).toHaveLength(1);
  });
});

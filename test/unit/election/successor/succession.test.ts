import { describe, expect, it } from 'vitest';
import { serializeCandidate } from '../../../../src/election/nodes/candidate.js';
import { withPriorityMark, withRequest } from '../../../../src/election/nodes/candidate-request.js';
import { Succession } from '../../../../src/election/successor/succession.js';
import type {
  FirstSuccessor,
  MarkedSuccessor,
  Successor,
} from '../../../../src/election/successor/successor.js';
import type { SuccessorSearch } from '../../../../src/election/successor/successor-search.js';
import type { NodeContent } from '../../../../src/lease/ephemeral-node.js';
import type { Contender } from '../../../../src/lock/queue/contender.js';
import type { AccompanyingReads } from '../../../../src/session/connection/heartbeat.js';
import { FakeClock, settle } from '../../../support/fake-clock.js';

const PLAIN = serializeCandidate('leader', 'data');
const MARKED = withPriorityMark(PLAIN) as Buffer;
const REQUESTED = withRequest(PLAIN, { kind: 'step-down', key: 'k', by: 'operator', graceMs: 5 }) as Buffer;
const nodeOf = (data: Buffer, version = 3) => ({ data, version });
const next = { isFirst: true, node: 'next', leaseMs: 2000 } as FirstSuccessor;
const late = { isFirst: true, node: 'late', leaseMs: 2000 } as FirstSuccessor;
const other = { isFirst: false, id: 'other', node: 'other', version: 2 } as MarkedSuccessor;

/** A leader that has listed its queue after its claim, and has found `found`. A later search finds `foundLater`. */
async function setUp(
  found: FirstSuccessor | undefined,
  node: NodeContent | undefined,
  { foundLater = other as Successor, hasRoom = true } = {},
) {
  const clock = new FakeClock();
  const reads = new Set<AccompanyingReads>();
  const asked: string[] = [];
  const search = {
    listOnce: async () => 'listing',
    listed: (_leader: unknown, listing: unknown) =>
      listing === 'one with a priority'
        ? { kind: 'preferred' }
        : { kind: 'first', successor: listing === 'nobody' ? undefined : late },
    next: async (_leader: unknown, listing?: unknown, looks = false) => {
      asked.push(listing === undefined ? 'the queue anew' : 'the listing');
      if (looks) asked.push('the node of the first');
      return listing === 'listing' ? found : foundLater;
    },
    again: async (name?: string) => {
      if (name !== undefined) asked.push(name);
      return name === 'gone' || name === undefined ? undefined : { ...other, node: name, version: 9 };
    },
  };
  const leader = {
    node: { isGone: false },
    session: {
      ...{ clock, leaseMs: 2000, state: { name: 'connected' }, absolute: (path: string) => path },
      heartbeat: {
        addSlowReads: (added: AccompanyingReads) => hasRoom && reads.add(added).has(added),
        removeSlowReads: (removed: AccompanyingReads) => reads.delete(removed),
      },
    },
  };
  const succession = new Succession(
    search as unknown as SuccessorSearch,
    leader as unknown as Contender,
    () => node,
  );
  succession.list();
  await settle();
  return { succession, clock, reads, asked, search };
}

describe('a leader whose term ends', () => {
  it.each([
    ['nothing has been written on its node', PLAIN, 0],
    ['it has changed what it advertises', PLAIN, 7],
    ['it was asked to step down', REQUESTED, 1],
  ])('knows who leads next if %s, as long as its node is not written', async (_, data, version) => {
    const { succession, asked } = await setUp(next, nodeOf(data, version));
    expect(await succession.next()).toEqual({ successor: next, ifAt: version });
    expect(asked).toEqual(['the listing']);
  });

  it.each([
    ['a candidate with a priority has marked its node', nodeOf(MARKED)],
    ['its node can not carry a mark', nodeOf(Buffer.from('<html>'))],
    ['it has not read its node', undefined],
  ])('reads the queue before, if %s', async (_, node) => {
    const { succession, asked } = await setUp(next, node);
    expect(await succession.next()).toEqual({ successor: other });
    expect(asked).toEqual(['the listing', 'the queue anew']);
  });

  it('knows that nobody is there, and looks again until then', async () => {
    const { succession, reads } = await setUp(undefined, nodeOf(PLAIN));
    const [reader] = reads;
    expect(await succession.next()).toEqual({ successor: undefined, ifAt: 3 });
    expect(reads.size).toBe(0);
    expect(reader?.nextRead()).toBeDefined();
  });

  it('looks before it releases, where too many others of its session look already', async () => {
    const { succession, asked } = await setUp(undefined, nodeOf(PLAIN), { hasRoom: false });
    expect(await succession.next()).toEqual({ successor: other });
    expect(asked).toEqual(['the listing', 'the queue anew']);
  });

  it('finds the candidate that came after its claim, by looking again', async () => {
    const { succession, reads, asked } = await setUp(undefined, nodeOf(PLAIN), { foundLater: late });
    const [reader] = reads;
    reader?.nextRead().answered('nobody');
    expect(reads.size).toBe(1);
    reader?.nextRead().answered('a later listing');
    expect(reads.size).toBe(0);
    expect(await succession.next()).toEqual({ successor: late, ifAt: 3 });
    expect(asked).toEqual(['the listing', 'the listing', 'the node of the first']);
  });

  it('reads the node of one with a priority that came after its claim', async () => {
    const { succession, reads, asked } = await setUp(undefined, nodeOf(PLAIN));
    const [reader] = reads;
    reader?.nextRead().answered('one with a priority');
    await settle();
    expect(reads.size).toBe(0);
    expect(await succession.next()).toEqual({ successor: other, ifAt: 3 });
    expect(asked).toHaveLength(3);
  });

  it('hands over to the one that it has named', async () => {
    const { succession, asked } = await setUp(next, nodeOf(PLAIN));
    succession.name(other);
    expect(await succession.next()).toEqual({ successor: other });
    expect(asked).toEqual(['the listing']);
  });

  it('lets the queue decide when there is no answer for half a lease', async () => {
    const { succession, clock, search } = await setUp(next, undefined);
    search.next = () => new Promise(() => undefined);
    const asking = succession.next();
    await clock.advance(1000);
    expect(await asking).toEqual({});
  });

  it('reads the named one again when its node has changed, and asks the queue when it is gone', async () => {
    const { succession } = await setUp(next, nodeOf(PLAIN));
    succession.name(other);
    await succession.next();
    expect(await succession.nextInstead()).toEqual({ successor: { ...other, version: 9 } });
    succession.name({ ...other, node: 'gone' });
    expect(await succession.nextInstead()).toEqual({ successor: other });
  });
});

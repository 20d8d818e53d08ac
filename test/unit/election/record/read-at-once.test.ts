import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Candidate, serializeCandidate } from '../../../../src/election/candidates/candidate.js';
import {
  holderOf,
  isInDoubt,
  isSameLeader,
  type LeaderSnapshot,
  leaderOf,
  snapshotOf,
} from '../../../../src/election/record/read-at-once.js';
import { serializeRecord } from '../../../../src/election/record/record.js';
import type { NodeData } from '../../../../src/session/protocol/records.js';

function nodeOf(number: number): string {
  return `_c_01234567-89ab-cdef-0123-456789abcdef-lock-${String(number).padStart(10, '0')}`;
}

function read(zxid: number, data: Buffer): NodeData {
  const stat = {
    czxid: 0n,
    createdAtMs: 0,
    modifiedAtMs: 0,
    version: 0,
    cversion: 0,
    ephemeralOwner: 7n,
    numChildren: 0,
    dataLength: 0,
  };
  return { data, stat: { ...stat, mzxid: BigInt(zxid) } };
}

function held(term: number, holder = term): Buffer {
  const node = nodeOf(holder);
  return serializeRecord({ state: 'held', term, id: 'a leader', node, leaseMs: 1000 });
}

const vacant = (term: number) => serializeRecord({ state: 'vacant', term });

/** An election at one moment: its node, and those of its candidates. */
interface Moment {
  readonly election: NodeData | undefined;
  readonly nodes: ReadonlyMap<string, NodeData>;
}

/** The kinds of transactions in an election. A history has one moment for each transaction that a server applies. */
const EVENTS = ['create', 'claim', 'release', 'crash', 'advertise', 'delete'] as const;
type Event = (typeof EVENTS)[number];

function historyOf(events: readonly { event: Event; gap: number }[]): Moment[] {
  const moments: Moment[] = [{ election: undefined, nodes: new Map() }];
  let zxid = 0;
  let term = 0;
  let joined = 0;
  for (const { event, gap } of events) {
    zxid += gap;
    const { election, nodes } = moments.at(-1) as Moment;
    const holder = election === undefined ? undefined : holderOf(election)?.entry.node;
    const led = holder !== undefined && nodes.has(holder);
    const without = () => new Map([...nodes].filter(([node]) => node !== holder));
    if (event === 'create' && election === undefined) {
      term = 0; // A new election counts its terms from 1, as the electors do.
      moments.push({ election: read(zxid, Buffer.alloc(0)), nodes });
    } else if (event === 'claim' && election !== undefined && !led) {
      const joinedNode = [nodeOf(++joined), read(zxid, serializeCandidate(`c${joined}`, 'first'))] as const;
      moments.push({ election, nodes: new Map([...nodes, joinedNode]) });
      moments.push({ election: read(++zxid, held(++term, joined)), nodes: new Map([...nodes, joinedNode]) });
    } else if (event === 'release' && led)
      moments.push({ election: read(zxid, vacant(term)), nodes: without() });
    else if (event === 'crash' && led) moments.push({ election, nodes: without() });
    else if (event === 'advertise' && led) {
      const data = read(zxid, serializeCandidate(`c${joined}`, `at ${zxid}`));
      moments.push({ election, nodes: new Map([...nodes, [holder, data]]) });
    } else if (event === 'delete' && election !== undefined) {
      for (const node of nodes.keys()) {
        const rest = new Map([...(moments.at(-1) as Moment).nodes].filter(([each]) => each !== node));
        moments.push({ election, nodes: rest });
      }
      moments.push({ election: undefined, nodes: new Map() });
    }
  }
  return moments;
}

/** The snapshot from two reads that were answered at these moments. */
function readAt(first: Moment, second: Moment): LeaderSnapshot {
  const holder = first.election === undefined ? undefined : holderOf(first.election)?.entry.node;
  return snapshotOf(first.election, holder === undefined ? undefined : second.nodes.get(holder));
}

const history = fc
  .array(fc.record({ event: fc.constantFrom(...EVENTS), gap: fc.integer({ min: 1, max: 3 }) }), {
    maxLength: 40,
    size: 'max',
  })
  .map(historyOf);
/** Reads of a history: how much later than the former read, with which session, and how far the session's server lags behind. */
const reads = fc.array(
  fc.record({ later: fc.nat(4), newSession: fc.boolean(), behind: fc.nat(12), between: fc.nat(3) }),
  { maxLength: 40, size: 'max' },
);

describe('what an observer shows', () => {
  it('keeps the order of the leaders, with any sessions and with servers that are behind', () => {
    fc.assert(
      fc.property(history, reads, (moments, plan) => {
        const last = moments.length - 1;
        const truth = moments.map((moment) => leaderOf(readAt(moment, moment)));
        let seen: LeaderSnapshot | undefined;
        let [now, server, shown] = [0, 0, 0];
        for (const { later, newSession, behind, between } of [
          ...plan,
          { later: last, newSession: false, behind: 0, between: 0 },
        ]) {
          now = Math.min(last, now + later);
          // A session's own server never goes back. The server of another session may be at any earlier moment.
          const first = Math.max(newSession ? 0 : server, now - behind);
          server = Math.min(now, first + between);
          let snapshot = readAt(moments[first] as Moment, moments[server] as Moment);
          if (isInDoubt(snapshot, seen)) {
            server = now; // The server has caught up.
            snapshot = readAt(moments[now] as Moment, moments[now] as Moment);
          }
          seen = snapshot;
          // The snapshot was true at some moment that isn't before the last shown moment, nor in the future.
          const leader = JSON.stringify(leaderOf(snapshot));
          shown = truth.findIndex((each, at) => at >= shown && at <= now && JSON.stringify(each) === leader);
          expect(shown).toBeGreaterThanOrEqual(0);
        }
        expect(seen && leaderOf(seen)).toEqual(truth[last]);
      }),
      { numRuns: 500 },
    );
  });

  it('is in doubt only with another session, or when an election comes or goes', () => {
    fc.assert(
      fc.property(
        history,
        fc.array(fc.tuple(fc.nat(4), fc.nat(4)), { size: 'max', maxLength: 40 }),
        (moments, steps) => {
          let [at, seen]: [number, LeaderSnapshot | undefined] = [0, undefined];
          for (const [wait, between] of steps) {
            const first = Math.min(moments.length - 1, at + wait);
            at = Math.min(moments.length - 1, first + between);
            const snapshot = readAt(moments[first] as Moment, moments[at] as Moment);
            const cameOrWent =
              seen !== undefined && (snapshot.kind === 'missing') !== (seen.kind === 'missing');
            expect(isInDoubt(snapshot, seen)).toBe(cameOrWent);
            seen = snapshot;
          }
        },
      ),
    );
  });
});

describe('a snapshot', () => {
  const holder = read(11, serializeCandidate('one', 'here'));

  it('shows the leader when its node is there, at position 0', () => {
    const leader: Candidate = {
      id: 'one',
      node: nodeOf(3),
      position: 0,
      priority: 0,
      sequence: 3,
      data: 'here',
    };
    expect(leaderOf(snapshotOf(read(12, held(3)), holder))).toEqual(leader);
  });

  it.each([
    ['there is no election', undefined],
    ['nothing was written yet', read(12, Buffer.alloc(0))],
    ['the last term was given back', read(12, vacant(3))],
    ['the record can not be read', read(12, Buffer.from('<html>'))],
  ])('shows no leader when %s', (_, election) => {
    expect(leaderOf(snapshotOf(election, undefined))).toBeUndefined();
  });

  it('distinguishes why there is no leader', () => {
    expect(snapshotOf(undefined, undefined)).toEqual({ kind: 'missing' });
    expect(snapshotOf(read(12, vacant(3)), undefined)).toEqual({ kind: 'vacant', recordZxid: 12n });
    expect(snapshotOf(read(12, vacant(3)), holder)).toEqual({ kind: 'vacant', recordZxid: 12n });
    expect(snapshotOf(read(12, held(3)), undefined)).toEqual({ kind: 'gone', recordZxid: 12n });
  });

  it("shows no leader when the holder's node is gone, though the record says held", () => {
    expect(leaderOf(snapshotOf(read(12, held(3)), undefined))).toBeUndefined();
  });

  it('is the same as another when the same node advertises the same in the same term, whatever was written again', () => {
    const one = snapshotOf(read(12, held(3)), holder);
    expect(isSameLeader(one, snapshotOf(read(20, held(3)), read(21, holder.data)))).toBe(true);
    expect(
      isSameLeader(one, snapshotOf(read(12, held(3)), read(21, serializeCandidate('one', 'there')))),
    ).toBe(false);
    expect(isSameLeader(one, snapshotOf(read(20, held(4)), holder))).toBe(false);
    expect(isSameLeader(one, snapshotOf(read(20, held(4, 3)), holder))).toBe(false);
    expect(isSameLeader(one, snapshotOf(read(20, vacant(3)), undefined))).toBe(false);
    expect(isSameLeader(snapshotOf(read(20, vacant(3)), undefined), one)).toBe(false);
    expect(isSameLeader(snapshotOf(undefined, undefined), snapshotOf(read(12, held(3)), undefined))).toBe(
      true,
    );
  });

  it('distinguishes bytes', () => {
    const [a, b, c] = [1, 1, 2].map((byte) =>
      snapshotOf(read(12, held(3)), read(11, serializeCandidate('one', new Uint8Array([byte])))),
    ) as [LeaderSnapshot, LeaderSnapshot, LeaderSnapshot];
    expect(isSameLeader(a, b)).toBe(true);
    expect(isSameLeader(a, c)).toBe(false);
  });
});

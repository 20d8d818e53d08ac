import { describe, expect, it } from 'vitest';
import { type Candidate, serializeCandidate } from '../../../../src/election/candidates/candidate.js';
import { serializeRecord } from '../../../../src/election/record/election-record.js';
import {
  isSameLeader,
  type LeaderSnapshot,
  leaderOf,
  snapshotOf,
} from '../../../../src/election/record/leader-snapshot.js';
import type { NodeData, Stat } from '../../../../src/session/protocol/multi-and-stats.js';

function nodeOf(number: number): string {
  return `_c_01234567-89ab-cdef-0123-456789abcdef-lock-${String(number).padStart(10, '0')}`;
}

function read(zxid: number, data: Buffer): NodeData {
  return { data, stat: { mzxid: BigInt(zxid), version: 0, ephemeralOwner: 7n } as Stat };
}

function held(term: number, holder = term): Buffer {
  const node = nodeOf(holder);
  return serializeRecord({ state: 'held', term, id: 'a leader', node, leaseMs: 1000 });
}

const vacant = (term: number) => serializeRecord({ state: 'vacant', term });

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
    ["its holder's node is gone", read(12, held(3))],
  ])('shows no leader when %s', (_, election) => {
    expect(leaderOf(snapshotOf(election, undefined))).toBeUndefined();
  });

  it('distinguishes why there is no leader', () => {
    expect(snapshotOf(undefined, undefined)).toEqual({ kind: 'missing' });
    expect(snapshotOf(read(12, vacant(3)), undefined)).toEqual({ kind: 'vacant' });
    expect(snapshotOf(read(12, vacant(3)), holder)).toEqual({ kind: 'vacant' });
    expect(snapshotOf(read(12, held(3)), undefined)).toEqual({ kind: 'gone' });
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

import { describe, expect, it } from 'vitest';
import type { GrantHold } from '../../src/lock/lock-hold.js';
import type { Candidate } from './candidates/candidate.js';
import { Ledger } from './ledger.js';
import { type Capacity, LockChecker } from './lock-checker.js';

const QUEUE = '/locks/table';
const EXCLUSIVE: Capacity = { seats: 1, readers: false };
const WITH_READERS: Capacity = { seats: 1, readers: true };
const MIDDLE = { lock: 'lock-', write: '__WRIT__', read: '__READ__' };

function node(number: number, purpose: keyof typeof MIDDLE = 'lock'): string {
  const digits = String(number).padStart(10, '0');
  return `_c_00000000-0000-4000-8000-000000000000-${MIDDLE[purpose]}${digits}`;
}

/** A checker, the servers that it looks at, and processes that say that they hold. */
function setting({ isExcused = false } = {}) {
  const ledger = new Ledger(() => 0);
  const nodes = new Map<string, string>();
  const tree = {
    childrenOf: () => nodes.keys(),
    dataOf: (path: string) => Buffer.from(nodes.get(path.slice(QUEUE.length + 1)) ?? ''),
  };
  const checker = new LockChecker(ledger, tree, () => isExcused);
  const begin = (name: string, capacity: Capacity, isReading = false) => {
    nodes.set(name, '');
    let isHeld = true;
    const hold = {
      path: `${QUEUE}/${name}`,
      token: BigInt(name.slice(-10)),
      signal: new AbortController().signal,
      node: { isHeld: () => isHeld },
    };
    const clock = { watched: <T>(look: () => T) => look() };
    const candidate = { id: 'process', isDead: false, environment: { clock } } as unknown as Candidate;
    const readOn = checker.begun(candidate, QUEUE, capacity, hold as unknown as GrantHold, isReading);
    return {
      readOn,
      /** Its node goes, and with it its lease, unless that lasts. */
      lose: ({ leaseLasts = false } = {}) => {
        nodes.delete(name);
        isHeld = leaseLasts;
      },
    };
  };
  const kinds = () => ledger.violations.map(({ kind }) => kind);
  return { checker, ledger, nodes, begin, kinds };
}

describe('the checker of locks', () => {
  it('has nothing against one after the other', () => {
    const { begin, kinds } = setting();
    begin(node(1), EXCLUSIVE).lose();
    begin(node(2), EXCLUSIVE).lose();
    expect(kinds()).toEqual([]);
  });

  it('sees a hold while another contender is ahead', () => {
    const { nodes, begin, kinds } = setting();
    nodes.set(node(1), '');
    begin(node(2), EXCLUSIVE);
    expect(kinds()).toEqual(['lock out of turn']);
  });

  it('sees two that hold at once, though the node of the first is gone', () => {
    const { begin, kinds } = setting();
    begin(node(1), EXCLUSIVE).lose({ leaseLasts: true });
    begin(node(2), EXCLUSIVE);
    expect(kinds()).toEqual(['lock held by too many']);
  });

  it('counts that where a lock promises nothing', () => {
    const { begin, ledger, kinds } = setting({ isExcused: true });
    begin(node(1), EXCLUSIVE).lose({ leaseLasts: true });
    begin(node(2), EXCLUSIVE);
    expect(kinds()).toEqual([]);
    expect(ledger.counts.get('locks: held by too many while servers stood still')).toBe(1);
  });

  it('counts it for a node that an operator deleted', () => {
    const { checker, begin, ledger, kinds } = setting();
    const first = begin(node(1), EXCLUSIVE);
    checker.tamperedWith(`${QUEUE}/${node(1)}`);
    first.lose({ leaseLasts: true });
    begin(node(2), EXCLUSIVE);
    expect(kinds()).toEqual([]);
    expect(ledger.counts.get('locks: held by too many after an operator deleted a node')).toBe(1);
  });

  it('sees a token that is lower than an earlier one', () => {
    const { begin, kinds } = setting();
    begin(node(2), EXCLUSIVE).lose();
    begin(node(1), EXCLUSIVE);
    expect(kinds()).toEqual(['lock token']);
  });

  it('lets as many hold as there are seats, and no more', () => {
    const { begin, kinds } = setting();
    const two: Capacity = { seats: 2, readers: false };
    begin(node(1), two);
    begin(node(2), two);
    expect(kinds()).toEqual([]);
    begin(node(3), two);
    expect(kinds()).toEqual(['lock out of turn', 'lock held by too many']);
  });

  it('lets readers hold together, and no other contender beside a writer', () => {
    const { begin, kinds } = setting();
    begin(node(1, 'read'), WITH_READERS, true);
    begin(node(2, 'read'), WITH_READERS, true);
    expect(kinds()).toEqual([]);
    begin(node(3, 'write'), WITH_READERS);
    expect(kinds()).toEqual(['lock out of turn', 'lock held by too many']);
  });

  it('lets readers hold beside a writer that reads only any more', () => {
    const { nodes, begin, kinds } = setting();
    const writer = begin(node(1, 'write'), WITH_READERS);
    writer.readOn();
    nodes.set(node(1, 'write'), '__READ__');
    begin(node(2, 'read'), WITH_READERS, true);
    expect(kinds()).toEqual([]);
  });

  it('sees a reader beside a writer that has not been made a reader', () => {
    const { begin, kinds } = setting();
    begin(node(1, 'write'), WITH_READERS);
    begin(node(2, 'read'), WITH_READERS, true);
    expect(kinds()).toEqual(['lock out of turn', 'lock held by too many']);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ElectionNodes, pruneDecisionOf } from '../../../../src/cli/prune/prunable-elections.js';
import type { VisitedNode } from '../../../../src/cli/prune/walk-tree.js';
import { serializeRecord } from '../../../../src/election/record/election-record.js';
import { serializeLastRun } from '../../../../src/jobs/last-run.js';
import { takeoverDelayMs } from '../../../../src/lease/failure-detector.js';

const noData = Buffer.alloc(0);
const HOUR_MS = 3_600_000;
const NOW = 1000 * HOUR_MS;
const ANY_AGE = { nowMs: NOW, olderThanMs: 0 };
const CANDIDATE = '_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000002';
const HELD = { state: 'held', term: 3, node: CANDIDATE, leaseMs: 2000 } as const;
const VACANT = { state: 'vacant', term: 12 } as const;

function node(
  path: string,
  data: Buffer,
  { ageMs = 10 * HOUR_MS, version = 5, numChildren = 0 } = {},
): VisitedNode {
  const stat = {
    czxid: 1n,
    mzxid: 2n,
    createdAtMs: 0,
    modifiedAtMs: NOW - ageMs,
    version,
    cversion: 2,
    dataLength: 0,
  };
  return { path, data, stat: { ...stat, ephemeralOwner: 0n, numChildren } };
}

function election(given: Partial<ElectionNodes> = {}): ElectionNodes {
  const own = node('/e', serializeRecord(VACANT), { version: 7 });
  return { election: own, children: [], runLog: undefined, ...given };
}

/** An election in which tasks are noted. */
const withTasks = (tasks: readonly VisitedNode[], parent = node('/e/cron', noData)) =>
  election({ runLog: { parent, tasks } });
const task = (ageMs: number) =>
  node('/e/cron/backup', serializeLastRun({ at: 1, id: 'x', token: '1' }), { ageMs, version: 4 });
describe('an election that is pruned', () => {
  it('is deleted at the version that was read', () => {
    expect(pruneDecisionOf(election(), ANY_AGE)).toEqual({
      kind: 'removable',
      description: 'term 12  changed 10h ago',
      waitMs: 0,
      parts: [{ kind: 'delete', path: '/e', version: 7 }],
    });
  });

  it('loses its record alone if it has other nodes below it and was named', () => {
    expect(pruneDecisionOf(election({ children: ['nested'] }), { ...ANY_AGE, isNamed: true })).toMatchObject({
      kind: 'removable',
      description: 'term 12  changed 10h ago  stays, as a folder',
      parts: [{ kind: 'set', path: '/e', version: 7, data: noData }],
    });
  });

  it('waits out the lease of a leader that ended uncleanly, as a candidate does', () => {
    const held = election({ election: node('/e', serializeRecord(HELD)) });
    expect(pruneDecisionOf(held, ANY_AGE)).toMatchObject({
      kind: 'removable',
      waitMs: takeoverDelayMs(2000),
      description: 'term 3  changed 10h ago',
    });
  });

  it('goes with what was noted of its tasks, children first', () => {
    const nodes = election({
      election: node('/e', serializeRecord(HELD)),
      children: ['cron'],
      runLog: { parent: node('/e/cron', noData, { version: 0 }), tasks: [task(2 * HOUR_MS)] },
    });
    expect(pruneDecisionOf(nodes, ANY_AGE)).toEqual({
      kind: 'removable',
      description: 'term 3  changed 2h ago',
      waitMs: takeoverDelayMs(2000),
      parts: [
        { kind: 'delete', path: '/e/cron/backup', version: 4 },
        { kind: 'delete', path: '/e/cron', version: 0 },
        { kind: 'delete', path: '/e', version: 5 },
      ],
    });
  });

  it.each<[what: string, nodes: ElectionNodes, reason: string]>([
    ['a candidate', election({ children: [CANDIDATE] }), 'it has candidates'],
    ['a heartbeat node', election({ children: ['_h_x'] }), 'it has candidates'],
    [
      'a node of another kind',
      election({ children: ['mine'] }),
      'it has other nodes below it, mine for one. Name it to make it a folder again',
    ],
    [
      'nodes below a task',
      withTasks([node('/e/cron/x', noData, { numChildren: 1 })]),
      '/e/cron/x has nodes below it',
    ],
    [
      'an election where tasks would be noted',
      withTasks([], node('/e/cron', serializeRecord(VACANT))),
      '/e/cron is of another kind',
    ],
    [
      'other data where tasks are noted',
      withTasks([node('/e/cron/x', Buffer.from('mine'))]),
      '/e/cron is of another kind',
    ],
    [
      'a record of another kind',
      election({ election: node('/e', Buffer.from('mine')) }),
      "its record can't be read",
    ],
    ['a task that ran of late', withTasks([task(HOUR_MS - 1)]), 'a job ran less than an hour ago'],
  ])('is kept with %s', (_what, nodes, reason) => {
    expect(pruneDecisionOf(nodes, ANY_AGE)).toMatchObject({ kind: 'kept', reason });
  });

  it('is as old as its newest change', () => {
    const nodes = withTasks([task(3 * HOUR_MS)]);
    expect(pruneDecisionOf(nodes, { nowMs: NOW, olderThanMs: 3 * HOUR_MS }).kind).toBe('removable');
    expect(pruneDecisionOf(nodes, { nowMs: NOW, olderThanMs: 3 * HOUR_MS + 1 })).toMatchObject({
      kind: 'kept',
      reason: 'it was changed 3h ago',
    });
    // The servers' clock may be ahead.
    const early = election({ election: node('/e', serializeRecord(VACANT), { ageMs: -HOUR_MS }) });
    expect(pruneDecisionOf(early, { nowMs: NOW, olderThanMs: 1 })).toMatchObject({
      reason: 'it was changed 0ms ago',
    });
  });

  it('is never removed with a child that is not deleted with it', () => {
    const names = fc.array(fc.constantFrom<string>(CANDIDATE, '_h_x', 'cron', 'other'));
    const ages = fc.nat(20 * HOUR_MS);
    fc.assert(
      fc.property(names, ages, ages, (children, ageMs, olderThanMs) => {
        const has = (name: string) => children.includes(name);
        const nodes = election({
          election: node('/e', serializeRecord(VACANT), { ageMs }),
          children,
          runLog: has('cron') ? { parent: node('/e/cron', noData), tasks: [] } : undefined,
        });
        const decision = pruneDecisionOf(nodes, { nowMs: NOW, olderThanMs });
        if (decision.kind === 'kept') return;
        const deleted = decision.parts.map((part) => part.path);
        for (const name of children) expect(deleted).toContain(`/e/${name}`);
        expect(deleted.at(-1)).toBe('/e');
        expect(decision.parts.every((part) => part.kind === 'delete' && part.version !== undefined)).toBe(
          true,
        );
        expect(ageMs).toBeGreaterThanOrEqual(olderThanMs);
      }),
    );
  });
});

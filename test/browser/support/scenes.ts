import type { DashboardState, ElectionView } from '../../../src/dashboard/api-types.js';
import { electionOf, groupOf, lockOf, stateOf } from './views.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const SERVICES = [
  'payments/settlement',
  'payments/refunds',
  'billing/invoices',
  'mail/digest',
  'search/indexer',
  'search/compaction',
  'reports/nightly',
  'cache/warmer',
  'orders/reconciler',
  'orders/expiry',
  'ledger/close',
] as const;

/** A state as an operator sees it: some services, a group of shards, and locks. */
export function afternoon({ alarm = false }: { alarm?: boolean } = {}): DashboardState {
  const now = Date.now();
  const elections = SERVICES.map((name, index): ElectionView => {
    const host = (number: number) => `${name.split('/')[1]}-${['7c9f', 'x2kd', 'm41b', 'q8tz'][number % 4]}`;
    const ids = [0, 1, 2, 3].slice(0, 2 + (index % 3)).map((number) => host(number + index));
    const begun = [
      { agoMs: 5 * HOUR + index * 7 * MINUTE },
      { agoMs: 3 * HOUR + index * 4 * MINUTE, gapMs: index % 4 === 0 ? 2_140 : 2 },
      { agoMs: (1 + (index % 3)) * 50 * MINUTE + index * 31 * SECOND },
    ].map((term, position) => ({
      ...term,
      end: index % 4 === 0 && position === 0 ? ('taken-over' as const) : ('handed-over' as const),
    }));
    const isOut = alarm && name === 'orders/reconciler';
    return electionOf(name, { now, ids, begun, state: isOut ? 'vacant' : 'led' });
  });
  if (alarm)
    elections[4] = electionOf(SERVICES[4], {
      now,
      ids: ['indexer-7c9f', 'indexer-x2kd'],
      state: 'taking-over',
    });
  const members = ['ingest-a1', 'ingest-b2', 'ingest-c3', 'ingest-d4', 'ingest-e5', 'ingest-f6', 'ingest-g7'];
  const group = groupOf('events/partitions', 512, members);
  return stateOf({
    now,
    elections,
    groups: [
      {
        ...group,
        pins: [{ shard: '7', member: 'ingest-b2' }],
        moves: [
          { at: now - 40 * SECOND, shard: '74', from: 'ingest-a1', to: 'ingest-b2' },
          { at: now - 41 * SECOND, shard: '148', from: 'ingest-b2', to: 'ingest-c3' },
          { at: now - 9 * MINUTE, shard: '300', from: null, to: 'ingest-e5' },
        ],
      },
    ],
    locks: [
      lockOf('migrations', ['deploy 2024.11.3'], {
        queue: lockOf('x', ['deploy 4711', 'deploy 4712']).queue,
      }),
      lockOf('exports/pool', ['export a', 'export b', 'export c'], {
        kind: 'semaphore',
        capacity: 3,
        holding: 3,
      }),
      lockOf('tenants/42', [], {}),
    ],
    servers: [
      { address: 'zk-1.internal:2181', role: 'follower', isOurs: true, version: '3.9.5' },
      { address: 'zk-2.internal:2181', role: 'leader', isOurs: false, version: '3.9.5' },
      { address: 'zk-3.internal:2181', role: alarm ? 'unreachable' : 'follower', isOurs: false },
    ],
    transitions: transitionsOf(elections, now),
  });
}

function transitionsOf(elections: readonly ElectionView[], now: number): DashboardState['transitions'] {
  return elections
    .flatMap(({ path, terms }) =>
      terms.flatMap(({ from, to, id, term, end }) => [
        { at: from, path, kind: 'elected' as const, id, term },
        ...(to === null || end === null
          ? []
          : [{ at: to, path, kind: 'ended' as const, id, term, reason: end }]),
      ]),
    )
    .filter(({ at }) => at <= now)
    .sort((a, b) => b.at - a.at);
}

/** A large state, which mustn't slow a page down: 300 elections with 20 candidates each, and a group of 4,096 shards. */
export function crowd(): DashboardState {
  const now = Date.now();
  const elections = Array.from({ length: 300 }, (_, index) => {
    const name = `service-${String(index).padStart(3, '0')}`;
    const ids = Array.from({ length: 20 }, (_, worker) => `${name}-worker-${worker}`);
    const begun = Array.from({ length: 30 }, (_, term) => ({
      agoMs: (30 - term) * 10 * MINUTE,
      gapMs: (index + term) % 23 === 0 ? 2_100 : 1,
    }));
    return electionOf(name, { now, ids, begun });
  });
  const members = Array.from({ length: 50 }, (_, index) => `member-${index}`);
  return stateOf({ now, elections, groups: [groupOf('shards', 4_096, members)] });
}

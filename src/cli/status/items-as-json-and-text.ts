import { inOrderOfLeading } from '../../election/candidates/order-by-priority.js';
import type {
  ElectionView,
  GroupView,
  LeaderView,
  LockView,
  OverviewState,
} from '../../overview/model/view-types.js';
import { printable } from '../../platform/printable.js';
import { byPath } from '../../platform/zookeeper-paths.js';
import { ageText, candidateLine, counted, durationText } from '../process/output.js';
import { ageMs, electionLines } from './print-election.js';
import { type Column, textTable } from './text-table.js';

/** An election, a lock or a group of shards, in each form in which `status` shows it. */
export interface ShownItem {
  readonly path: string;
  readonly kind: 'election' | 'lock' | 'group';
  /** In one line, without the values that change all the time. */
  readonly line: string;
  /** As `--json` prints it, besides its path and kind. */
  readonly facts: object;
  /** Whether there is a leader, a holder, or an owner of each shard. */
  readonly isServed: boolean;
  /**
   * Its row in the table.
   * @param nowMs - the time by the clock of the views, in milliseconds since 1970
   */
  row(nowMs: number): string[];
  /** The lines of a page that has nothing else. */
  details(nowMs: number): string[];
}

/** Stands for a path that was named and at which there is nothing. */
export function absentItem(path: string): ShownItem {
  return {
    ...{ path, kind: 'election', line: `${printable(path)}  absent` },
    facts: { state: 'absent', leader: null },
    isServed: false,
    row: () => [printable(path), '-', 'absent', '-', '-', '-', '-', '-'],
    details: () => ['there is no such election'],
  };
}

/** The member that comes first has the path, and the kind as its name. */
export function itemJson({ kind, path, facts }: ShownItem): object {
  return { [kind]: path, ...facts };
}

/** With the candidates in the order in which they will lead, and without its past terms, which are for the dashboard. */
export function electionItem(view: ElectionView): ShownItem {
  const { path, terms: _, ...facts } = view;
  return {
    ...{ path, kind: 'election', line: electionLine(view), isServed: view.state === 'led' },
    facts: { ...facts, candidates: inOrderOfLeading(view.candidates, view.leader?.node) },
    row: (nowMs) => rowOf(view, nowMs),
    details: (nowMs) => electionDetails(view, nowMs),
  };
}

function electionLine({ path, state, leader, candidates }: ElectionView): string {
  const led = leader === null ? '-' : `${printable(leader.id)} term ${leader.term}`;
  return [printable(path), state, led, counted(candidates.length, 'candidate')].join('  ');
}

/** As `status` prints one election: the leader, the age of its newest heartbeat, and the waiting candidates. */
function electionDetails({ leader, candidates }: ElectionView, nowMs: number): string[] {
  const waiting = inOrderOfLeading(candidates, leader?.node).filter(({ node }) => node !== leader?.node);
  if (leader === null) return electionLines(null, undefined, waiting);
  const { term, since, heartbeatAt } = leader;
  const candidate = candidates.find(({ node }) => node === leader.node) ?? { id: leader.id, priority: 0 };
  const line = `term ${term}  ${candidateLine(candidate)}  for ${ageText(since, nowMs)}`;
  return electionLines(line, heartbeatAt === null ? undefined : ageMs(heartbeatAt, nowMs), waiting);
}

function rowOf({ path, state, leader, candidates }: ElectionView, nowMs: number): string[] {
  const ofLeader =
    leader === null
      ? ['-', '-', '-', '-']
      : [printable(leader.id), String(leader.term), ageText(leader.since, nowMs), leaseText(leader, nowMs)];
  return [printable(path), 'election', state, ...ofLeader, String(candidates.length)];
}

/** How much of the lease is left, by the newest heartbeat that was seen. */
function leaseText({ leaseMs, heartbeatAt }: LeaderView, nowMs: number): string {
  const whole = seconds(leaseMs);
  if (heartbeatAt === null) return whole;
  const leftMs = heartbeatAt + leaseMs - nowMs;
  return leftMs < 0
    ? `over for ${durationText(-leftMs)}`
    : `${seconds(Math.min(leftMs, leaseMs))} of ${whole}`;
}

function seconds(ms: number): string {
  return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
}

function lockItem({ path, ...facts }: LockView): ShownItem {
  const { kind, capacity, queue, holding } = facts;
  const state = holding > 0 ? 'held' : 'free';
  const [first] = queue;
  const holders =
    holding === 0 || first === undefined
      ? '-'
      : `${printable(first.id)}${holding > 1 ? ` +${holding - 1}` : ''}`;
  const count = counted(queue.length, 'contender');
  return {
    ...{ path, kind: 'lock', facts, isServed: holding > 0 },
    line: [printable(path), state, holders, count].join('  '),
    row: (nowMs) => [
      ...[printable(path), kind, state, holders, '-'],
      ...[
        holding === 0 || first === undefined ? '-' : ageText(first.since, nowMs),
        '-',
        String(queue.length),
      ],
    ],
    details: (nowMs) => [
      kind === 'semaphore' ? `${kind}  ${holding} of ${capacity} held` : `${kind}  ${state}`,
      ...queue.map((contender, index) => {
        const words = [index < holding ? 'holds' : 'waits', printable(contender.id)];
        if (contender.shared) words.push('shared');
        return [...words, `joined ${ageText(contender.since, nowMs)} ago`].join('  ');
      }),
    ],
  };
}

/** Its past moves are for the dashboard. */
function groupItem({ path, moves: _, ...facts }: GroupView): ShownItem {
  const { state, shards, members, owners } = facts;
  const owned = `${owners.filter((owner) => owner >= 0).length} of ${shards.length} shards owned`;
  const count = counted(members.length, 'member');
  return {
    ...{ path, kind: 'group', facts, isServed: state === 'owned' },
    line: [printable(path), state, owned, count].join('  '),
    row: () => [printable(path), 'group', state, '-', '-', '-', '-', String(members.length)],
    details: () => [
      `${state}  ${owned}`,
      ...members.map(({ id, planner }, index) => {
        const own = owners.filter((owner) => owner === index).length;
        return `member ${printable(id)}  owns ${own}${planner ? '  plans' : ''}`;
      }),
    ],
  };
}

/** In the order of their paths. */
export function itemsOf({
  elections,
  locks,
  groups,
}: Pick<OverviewState, 'elections' | 'locks' | 'groups'>): ShownItem[] {
  const items = [...elections.map(electionItem), ...locks.map(lockItem), ...groups.map(groupItem)];
  return items.sort(byPath);
}

const COLUMNS: readonly Column[] = [
  { header: 'PATH', leastWidth: 12, kept: 'end', leftOutAt: 0 },
  { header: 'KIND', leftOutAt: 7 },
  { header: 'STATE', leftOutAt: 1 },
  { header: 'LEADER', leastWidth: 8, leftOutAt: 2 },
  { header: 'TERM', align: 'right', leftOutAt: 4 },
  { header: 'SINCE', align: 'right', leftOutAt: 3 },
  { header: 'LEASE', align: 'right', leftOutAt: 6 },
  { header: 'CANDIDATES', align: 'right', leftOutAt: 5 },
];

/** @param width - the terminal's width, in columns */
export function itemTable(items: readonly ShownItem[], nowMs: number, width: number): string[] {
  return textTable(
    COLUMNS,
    items.map((item) => item.row(nowMs)),
    width,
  );
}

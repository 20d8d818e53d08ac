import { inOrderOfLeading } from '../../election/candidates/order-by-priority.js';
import type { ElectionView, LeaderView } from '../../overview/model/views.js';
import { byPath } from '../../platform/zookeeper-paths.js';
import { candidateLine, durationText, printable } from '../process/output.js';
import { ageMs, heartbeatLine, onSeat, waitingLine } from './print-election.js';
import { type Column, textTable } from './text-table.js';

/** An election in one line, without the values that change all the time. */
export function electionLine({ path, state, leaders, candidates }: ElectionView): string {
  const led = leaders.map((leader) =>
    leader === null ? '-' : `${printable(leader.id)} term ${leader.term}`,
  );
  const count = `${candidates.length} candidate${candidates.length === 1 ? '' : 's'}`;
  return [printable(path), state, ...led, count].join('  ');
}

/**
 * An election as `--json` prints it: with the candidates in the order in which they will lead, and without its past
 * terms, which are for the dashboard.
 */
export function electionJson({ terms: _, path, ...view }: ElectionView): object {
  return { election: path, ...view, candidates: inOrderOfLeading(view.candidates, leadingNodes(view)) };
}

/**
 * One election in detail, as `status` prints it: the leaders, the age of their newest heartbeats, and the waiting candidates.
 * @param view - `undefined`: there is no such election
 * @param seat - the seat to take the leader of. @default all seats
 * @param nowMs - the time by this machine's clock, in milliseconds since 1970
 */
export function electionDetails(
  view: ElectionView | undefined,
  seat: number | undefined,
  nowMs: number,
): string[] {
  if (view === undefined) return ['there is no such election'];
  const leading = leadingNodes(view);
  const waiting = inOrderOfLeading(view.candidates, leading).filter(({ node }) => !leading.has(node));
  const linesOf = (leader: LeaderView | null | undefined) => leaderLines(view, leader ?? undefined, nowMs);
  const leaders =
    seat === undefined && view.leaders.length > 1
      ? view.leaders.flatMap((leader, number) => onSeat(number, linesOf(leader)))
      : linesOf(view.leaders[seat ?? 0]);
  return [...leaders, ...waiting.map(waitingLine)];
}

function leaderLines({ candidates }: ElectionView, leader: LeaderView | undefined, nowMs: number): string[] {
  if (leader === undefined) return ['nobody leads'];
  const candidate = candidates.find(({ node }) => node === leader.node);
  const name = candidate === undefined ? printable(leader.id) : candidateLine(candidate);
  const first = `term ${leader.term}  ${name}  for ${durationText(Math.max(0, nowMs - leader.since))}`;
  return leader.heartbeatAt === null ? [first] : [first, heartbeatLine(ageMs(leader.heartbeatAt, nowMs))];
}

function leadingNodes({ leaders }: Pick<ElectionView, 'leaders'>): ReadonlySet<string> {
  return new Set(leaders.flatMap((leader) => leader?.node ?? []));
}

const COLUMNS: readonly Column[] = [
  { header: 'ELECTION', leastWidth: 12, kept: 'end', leftOutAt: 0 },
  { header: 'STATE', leftOutAt: 1 },
  { header: 'LEADER', leastWidth: 8, leftOutAt: 2 },
  { header: 'TERM', align: 'right', leftOutAt: 4 },
  { header: 'SINCE', align: 'right', leftOutAt: 3 },
  { header: 'LEASE', align: 'right', leftOutAt: 6 },
  { header: 'CANDIDATES', align: 'right', leftOutAt: 5 },
];

const NONE = '-';

/**
 * Elections as a table: a row for each election, or for each seat if the election has several.
 * @param nowMs - the time by the clock of the views, in milliseconds since 1970
 * @param width - the terminal's width, in columns
 */
export function electionTable(elections: readonly ElectionView[], nowMs: number, width: number): string[] {
  const sorted = [...elections].sort(byPath);
  return textTable(
    COLUMNS,
    sorted.flatMap((election) => rowsOf(election, nowMs)),
    width,
  );
}

function rowsOf({ path, state, seats, leaders, candidates }: ElectionView, nowMs: number): string[][] {
  const name = printable(path);
  return Array.from({ length: Math.max(1, seats) }, (_, seat) => {
    const leader = leaders[seat] ?? undefined;
    return [
      seats > 1 ? `${name} seat ${seat}` : name,
      leader === undefined ? (state === 'led' ? 'vacant' : state) : 'led',
      leader === undefined ? NONE : printable(leader.id),
      leader === undefined ? NONE : String(leader.term),
      leader === undefined ? NONE : durationText(Math.max(0, nowMs - leader.since)),
      leader === undefined ? NONE : leaseText(leader, nowMs),
      String(candidates.length),
    ];
  });
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

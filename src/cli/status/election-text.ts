import { inOrderOfLeading } from '../../election/candidates/order-by-priority.js';
import type { ElectionView, LeaderView } from '../../overview/model/views.js';
import { candidateLine, durationText, printable } from '../process/output.js';
import { ageMs, heartbeatLine, onSeat, waitingLine } from './print-election.js';
import type { ShownItem } from './shown-item.js';

/**
 * With the candidates in the order in which they will lead, and without its past terms, which are for the dashboard.
 * @param seat - the seat of whose leader the details are. @default all seats
 */
export function electionItem(view: ElectionView, seat?: number): ShownItem {
  const { path, terms: _, ...facts } = view;
  return {
    ...{ path, kind: 'election', line: electionLine(view), isServed: view.state === 'led' },
    facts: { ...facts, candidates: inOrderOfLeading(view.candidates, leadingNodes(view)) },
    rows: (nowMs) => rowsOf(view, nowMs),
    details: (nowMs) => electionDetails(view, seat, nowMs),
  };
}

function electionLine({ path, state, leaders, candidates }: ElectionView): string {
  const led = leaders.map((leader) =>
    leader === null ? '-' : `${printable(leader.id)} term ${leader.term}`,
  );
  const count = `${candidates.length} candidate${candidates.length === 1 ? '' : 's'}`;
  return [printable(path), state, ...led, count].join('  ');
}

/** As `status` prints one election: the leaders, the age of their newest heartbeats, and the waiting candidates. */
function electionDetails(view: ElectionView, seat: number | undefined, nowMs: number): string[] {
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

const NONE = '-';

function rowsOf({ path, state, seats, leaders, candidates }: ElectionView, nowMs: number): string[][] {
  const name = printable(path);
  return Array.from({ length: Math.max(1, seats) }, (_, seat) => {
    const leader = leaders[seat] ?? undefined;
    return [
      seats > 1 ? `${name} seat ${seat}` : name,
      'election',
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

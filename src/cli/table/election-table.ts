import type { ElectionView, LeaderView } from '../../overview/model/views.js';
import { byPath } from '../../platform/paths.js';
import { durationText } from '../process/duration-text.js';
import { printable } from '../process/output.js';
import { type Column, textTable } from './text-table.js';

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

import { inOrderOfLeading } from '../../election/candidates/order-by-priority.js';
import type { ElectionView, LeaderView } from '../../overview/model/views.js';
import { printable } from '../../platform/printable.js';
import { candidateLine, durationText } from '../process/output.js';
import { ageMs, heartbeatLine, waitingLine } from './print-election.js';
import type { ShownItem } from './shown-item.js';

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
  const count = `${candidates.length} candidate${candidates.length === 1 ? '' : 's'}`;
  return [printable(path), state, led, count].join('  ');
}

/** As `status` prints one election: the leader, the age of its newest heartbeat, and the waiting candidates. */
function electionDetails(view: ElectionView, nowMs: number): string[] {
  const leader = view.leader?.node;
  const waiting = inOrderOfLeading(view.candidates, leader).filter(({ node }) => node !== leader);
  return [...leaderLines(view, nowMs), ...waiting.map(waitingLine)];
}

function leaderLines({ leader, candidates }: ElectionView, nowMs: number): string[] {
  if (leader === null) return ['nobody leads'];
  const candidate = candidates.find(({ node }) => node === leader.node);
  const name = candidate === undefined ? printable(leader.id) : candidateLine(candidate);
  const first = `term ${leader.term}  ${name}  for ${durationText(Math.max(0, nowMs - leader.since))}`;
  return leader.heartbeatAt === null ? [first] : [first, heartbeatLine(ageMs(leader.heartbeatAt, nowMs))];
}

const NONE = '-';

function rowOf({ path, state, leader, candidates }: ElectionView, nowMs: number): string[] {
  return [
    printable(path),
    'election',
    state,
    leader === null ? NONE : printable(leader.id),
    leader === null ? NONE : String(leader.term),
    leader === null ? NONE : durationText(Math.max(0, nowMs - leader.since)),
    leader === null ? NONE : leaseText(leader, nowMs),
    String(candidates.length),
  ];
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

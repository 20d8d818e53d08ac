import type { CandidateView, ElectionView } from '../../overview/model/views.js';
import { durationText } from '../process/duration-text.js';
import { printable } from '../process/output.js';

/** An election in one line, without the values that change all the time. */
export function electionLine({ path, state, leaders, candidates }: ElectionView): string {
  const led = leaders.map((leader) =>
    leader === null ? '-' : `${printable(leader.id)} term ${leader.term}`,
  );
  const count = `${candidates.length} candidate${candidates.length === 1 ? '' : 's'}`;
  return [printable(path), state, ...led, count].join('  ');
}

/** An election as `--json` prints it, without its past terms, which are for the dashboard. */
export function electionJson({ path, terms: _, ...view }: ElectionView): object {
  return { election: path, ...view };
}

/**
 * One election in detail, as `status` prints it: the leader, the age of the newest heartbeat, and the waiting candidates.
 * @param view - `undefined`: there is no such election
 * @param seat - the seat to take the leader of, if the election has several
 * @param nowMs - the time by this machine's clock, in milliseconds since 1970
 */
export function electionDetails(
  view: ElectionView | undefined,
  seat: number | undefined,
  nowMs: number,
): string[] {
  if (view === undefined) return ['there is no such election'];
  const leader = (seat === undefined ? view.leader : view.leaders[seat]) ?? undefined;
  if (leader === undefined) return ['nobody leads', ...waitingLines(view)];
  const candidate = view.candidates.find(({ node }) => node === leader.node);
  const first = `term ${leader.term}  ${nameAndData(candidate ?? leader)}  for ${durationText(Math.max(0, nowMs - leader.since))}`;
  const heartbeat =
    leader.heartbeatAt === null
      ? []
      : [
          `heartbeat  ${Math.max(0, nowMs - leader.heartbeatAt)} ms ago, by the servers' clock and this machine's`,
        ];
  return [first, ...heartbeat, ...waitingLines(view, leader.node)];
}

function waitingLines({ candidates }: ElectionView, leader?: string): string[] {
  return candidates.filter(({ node }) => node !== leader).map((each) => `waits  ${nameAndData(each)}`);
}

function nameAndData({ id, data }: Pick<CandidateView, 'id' | 'data'>): string {
  return data === undefined || data === '' ? printable(id) : `${printable(id)}  ${printable(data)}`;
}

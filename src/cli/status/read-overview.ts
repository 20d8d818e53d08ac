import { ElectionReader } from '../../election/record/election-reader.js';
import type { ElectionView, OverviewState } from '../../overview/model/views.js';
import { Overview } from '../../overview/overview.js';
import type { Session } from '../../session/session.js';
import { printError } from '../process/output.js';

/** Reads what is at a path and below it, at one moment. Prints on standard error what it doesn't look at. */
export async function readOverview(session: Session, root: string): Promise<OverviewState> {
  const overview = new Overview(session, { root });
  try {
    await overview.start();
    const { state } = overview;
    for (const limit of state.limits ?? []) printError(limit);
    return state;
  } finally {
    await overview.stop();
  }
}

/** The elections with the time of each leader's newest heartbeat, by the servers' clock. */
export function withHeartbeats(
  session: Session,
  elections: readonly ElectionView[],
): Promise<ElectionView[]> {
  return Promise.all(elections.map((view) => withHeartbeat(session, view)));
}

async function withHeartbeat(session: Session, view: ElectionView): Promise<ElectionView> {
  const { path, leader, candidates } = view;
  if (leader === null || !candidates.some(({ node }) => node === leader.node)) return view;
  const heartbeatAt = (await new ElectionReader(session, path).heartbeatAtMs(leader)) ?? null;
  return { ...view, leader: { ...leader, heartbeatAt } };
}

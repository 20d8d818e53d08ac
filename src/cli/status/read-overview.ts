import { ElectionReader } from '../../election/record/election-reader.js';
import type { ElectionView, LeaderView, OverviewState } from '../../overview/model/views.js';
import { Overview } from '../../overview/overview.js';
import type { Session } from '../../session/session.js';
import { printable, printError } from '../process/output.js';

/** Reads what is at a path and below it, at one moment. Prints on standard error what it doesn't look at. */
export async function readOverview(session: Session, root: string): Promise<OverviewState> {
  const overview = new Overview(session, { root });
  try {
    await overview.start();
    const { state } = overview;
    for (const limit of state.limits ?? []) printError(printable(limit));
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
  return Promise.all(
    elections.map(async (view) => {
      const readings = view.leaders.map((leader) => withHeartbeat(session, view, leader));
      const leaders = await Promise.all(readings);
      return { ...view, leaders, leader: leaders.find((leader) => leader !== null) ?? null };
    }),
  );
}

async function withHeartbeat(
  session: Session,
  { path, candidates }: ElectionView,
  leader: LeaderView | null,
): Promise<LeaderView | null> {
  if (leader === null || !candidates.some(({ node }) => node === leader.node)) return leader;
  return { ...leader, heartbeatAt: (await new ElectionReader(session, path).heartbeatAtMs(leader)) ?? null };
}

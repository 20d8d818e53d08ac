import { ElectionReader } from '../../election/nodes/election-reader.js';
import { leaderOf } from '../../election/nodes/snapshot.js';
import type { Session } from '../../session/session.js';
import { candidateJson, candidateLine } from '../process/output.js';

/** An election at one moment. */
type Status = Awaited<ReturnType<typeof readStatus>>;

/** Prints the leader of an election and the candidates that wait. @returns whether there is a leader */
export async function printElection(
  session: Session,
  election: string,
  { json, seat }: { readonly json?: boolean; readonly seat?: number },
): Promise<boolean> {
  const status = await readStatus(session, election, seat);
  console.log(json ? asJson(status) : asText(status));
  return leaderOf(status.snapshot) !== undefined;
}

async function readStatus(session: Session, election: string, seat: number | undefined) {
  const reader = new ElectionReader(session, election, seat);
  const [snapshot, candidates] = await Promise.all([reader.snapshot(), reader.candidates()]);
  const leader = leaderOf(snapshot);
  const heartbeatAtMs = leader === undefined ? undefined : await reader.heartbeatAtMs(leader);
  const heartbeatAgeMs =
    heartbeatAtMs === undefined ? undefined : ageMs(heartbeatAtMs, session.clock.date().getTime());
  return { election, snapshot, candidates, heartbeatAgeMs };
}

/** The age in milliseconds, by two clocks: it is never negative, though the servers' clock may be ahead of this machine's. */
export function ageMs(atMs: number, nowMs: number): number {
  return Math.max(0, nowMs - atMs);
}

function asJson({ election, snapshot, candidates, heartbeatAgeMs }: Status): string {
  const leader = leaderOf(snapshot);
  return JSON.stringify({
    election,
    exists: snapshot.kind !== 'missing',
    ...(snapshot.kind === 'led' && { term: snapshot.term }),
    leader: leader === undefined ? null : candidateJson(leader),
    ...(heartbeatAgeMs !== undefined && { heartbeatAgeMs }),
    candidates: candidates.map(candidateJson),
  });
}

function asText({ snapshot, candidates, heartbeatAgeMs }: Status): string {
  if (snapshot.kind === 'missing') return 'there is no such election';
  const first =
    snapshot.kind === 'led' ? `term ${snapshot.term}  ${candidateLine(snapshot.leader)}` : 'nobody leads';
  const heartbeat =
    heartbeatAgeMs === undefined
      ? []
      : [`heartbeat  ${heartbeatAgeMs} ms ago, by the servers' clock and this machine's`];
  const leader = leaderOf(snapshot)?.node;
  const waiting = candidates
    .filter(({ node }) => node !== leader)
    .map((each) => `waits  ${candidateLine(each)}`);
  return [first, ...heartbeat, ...waiting].join('\n');
}

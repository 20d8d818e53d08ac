import type { Candidate } from '../../../src/election/candidates/candidate.js';
import type { LeaderElectorOptions } from '../../../src/election/elector-options.js';
import type { LeaderElector } from '../../../src/election/leader-elector.js';
import { ElectionObserver } from '../../../src/election/observer/election-observer.js';
import type { NodeData } from '../../../src/session/protocol/multi-and-stats.js';
import type { Session } from '../../../src/session/session.js';
import type { SessionSource } from '../../../src/session/session-source.js';
import { errorsOf } from '../events.js';
import { endsWithTest } from '../vitest/test-end.js';
import { lead } from './electors.js';

/** An elector that leads. */
export async function startLeader(
  session: Session,
  path: string,
  options: LeaderElectorOptions = {},
): Promise<LeaderElector> {
  const [elector] = await lead(session, path, options);
  return elector;
}

/** An observer that has read once, and the ids of the leaders in its events. */
export async function observe(...given: ConstructorParameters<typeof ElectionObserver>) {
  const observer = endsWithTest(new ElectionObserver(...given));
  const changes = record(observer);
  const errors = errorsOf(observer);
  await observer.start();
  return { observer, changes, errors };
}

export function record(observer: ElectionObserver): (string | undefined)[] {
  const changes: (string | undefined)[] = [];
  observer.on('change', (leader) => void changes.push(leader?.id));
  return changes;
}

/** Resolves with the leader when the observer shows one that fits; at once if it already does. */
export function shown(
  observer: ElectionObserver,
  wanted: (leader: Candidate | undefined) => boolean,
): Promise<Candidate | undefined> {
  return new Promise((resolve) => {
    const look = (leader: Candidate | undefined) => {
      if (!wanted(leader)) return;
      observer.off('change', look);
      resolve(leader);
    };
    observer.on('change', look);
    look(observer.leader);
  });
}

export const showsId = (observer: ElectionObserver, id: string | undefined) =>
  shown(observer, (leader) => leader?.id === id);

/** A source that gives the first session, and the second one when the first is over. */
export function oneAfterTheOther(first: Session, second: Session): SessionSource {
  return { session: () => Promise.resolve(first.signal.aborted ? second : first) };
}

/**
 * Makes a session read as from a server that is behind: it gets the results of earlier reads, until it asks for a committed
 * write, after which no server is behind.
 */
export function servedLate(
  session: Session,
  before: ReadonlyMap<string, NodeData | Error>,
): { caughtUp: boolean } {
  const server = { caughtUp: false };
  const { getData, commit } = {
    getData: session.getData.bind(session),
    commit: session.commit.bind(session),
  };
  session.getData = async (path, options) => {
    const old = server.caughtUp ? undefined : before.get(path);
    if (old instanceof Error) throw old;
    return old ?? (await getData(path, options));
  };
  session.commit = async (parts) => {
    server.caughtUp = true;
    return await commit(parts);
  };
  return server;
}

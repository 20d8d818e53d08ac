import type { LeaderElectorOptions } from '../../../src/election/elector-options.js';
import { LeaderElector } from '../../../src/election/leader-elector.js';
import type { Term } from '../../../src/election/term/term.js';
import { queueOf } from '../../../src/queue/names-and-order.js';
import type { Session } from '../../../src/session/session.js';
import { nextEvent } from '../events.js';

/** The record of a leader that is gone and whose lease may not be over. */
export const DEAD = {
  state: 'held',
  term: 41,
  id: 'dead',
  node: '_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000000',
  leaseMs: 500,
} as const;

/** The names of the candidates' nodes, in the order of the queue: without the heartbeat nodes beside them. */
export async function candidateNodes(session: Session, path: string): Promise<string[]> {
  return queueOf(await session.getChildren(path)).map(({ node }) => node);
}

/** An elector that has a place in the queue. It ends with its session, at the end of the test. */
export async function campaign(
  session: Session,
  path: string,
  options: LeaderElectorOptions = {},
): Promise<LeaderElector> {
  const elector = new LeaderElector(session, path, options);
  await elector.start();
  return elector;
}

/** An elector that leads, and its term. They end with their session, at the end of the test. */
export async function lead<T = undefined>(
  session: Session,
  path: string,
  options: LeaderElectorOptions<T> = {},
): Promise<[LeaderElector, Term]> {
  const elector = new LeaderElector(session, path, options);
  const elected = nextEvent<[Term]>(elector, 'elected');
  await elector.start();
  return [elector, (await elected)[0]];
}

import { onTestFinished } from 'vitest';
import type { LeaderElectorOptions } from '../../../src/election/elector-options.js';
import { LeaderElector } from '../../../src/election/leader-elector.js';
import { parseRecord } from '../../../src/election/record/election-record.js';
import type { Term } from '../../../src/election/term/term.js';
import type { SessionOptions } from '../../../src/session/session-options.js';
import type { EmbeddedSession } from '../../../src/testing/index.js';
import { sessionAt, startWithTestClock } from '../servers/embedded-with-test-clock.js';

/**
 * An election on a server of the test's own, in time that stands still. Each candidate has a session of its own, with the given options.
 * All faults of the network end with the test, and then the candidates stop.
 */
export async function startElection(path: string, ofSessions: SessionOptions = {}) {
  const { clock, server, open } = await startWithTestClock();
  /** The ids of those that were elected, with their terms, such as `one 1`. */
  const elected: string[] = [];
  /** A candidate that has not started. */
  const make = async (id: string, options: LeaderElectorOptions = {}, ofSession: SessionOptions = {}) => {
    const elector = new LeaderElector(await open({ ...ofSessions, ...ofSession }), path, { ...options, id });
    elector.on('elected', ({ number }) => elected.push(`${id} ${number}`));
    onTestFinished(async () => {
      server.clearFaults();
      server.heal();
      for (const each of server.sessions()) each.heal();
      await clock.advanceUntil(elector.stop());
    });
    return elector;
  };
  /** A candidate that has a place in the queue, behind those that joined before. */
  const join = async (...given: Parameters<typeof make>) => {
    const elector = await make(...given);
    await clock.advanceUntil(elector.start());
    return elector;
  };
  /** Lets time pass until that candidate leads. */
  const leads = (elector: LeaderElector): Promise<Term> => clock.advanceUntil(() => elector.term as Term);
  /** A candidate that leads. */
  const lead = async (...given: Parameters<typeof make>) => {
    const elector = await join(...given);
    await leads(elector);
    return elector;
  };
  const atServer = ({ session }: LeaderElector): EmbeddedSession => sessionAt(server, session);
  /** The path of the candidate's node. */
  const pathOf = (elector: LeaderElector): string =>
    atServer(elector).ephemerals.find((each) => each.includes('-lock-')) as string;
  const nodeOf = (elector: LeaderElector): string => pathOf(elector).slice(path.length + 1);
  const record = () => parseRecord(server.data(path) as Buffer, 1);
  return { clock, server, open, elected, make, join, leads, lead, atServer, pathOf, nodeOf, record };
}

/** A process that has a candidate, with a session of its own, in each of several elections. It counts terms that begin and end. */
import { ElectionSupervisor } from 'conclave';
import { forEach, serve, startCandidate } from '../../harness/child.mjs';

const AT_ONCE = 10;
let begun = 0;
/** The number of terms that ended, by reason. @type {Record<string, number>} */
const ended = {};

serve({
  /** Resolves when each candidate leads or waits. */
  join: ({ connect, path, count, sessionTimeoutMs, leaseMs }) =>
    forEach(count, AT_ONCE, async (index) => {
      const session = { sessionTimeoutMs, ...(leaseMs !== undefined && { leaseMs }) };
      const supervisor = new ElectionSupervisor({
        connect,
        path: `${path}-${index}`,
        session,
        guardian: false,
      });
      supervisor
        .on('elected', () => begun++)
        .on('demoted', (_term, reason) => {
          ended[reason] = (ended[reason] ?? 0) + 1;
        })
        .on('error', () => undefined); // The reasons in `ended` suffice.
      await startCandidate(supervisor);
    }),
  terms: () => ({ begun, ended }),
});

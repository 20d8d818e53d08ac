/**
 * A process with many candidates of one election, each with a session of its own, or with one session that has joined
 * many elections.
 */
import { ElectionSupervisor, LeaderElector, Session } from 'conclave';
import { forEach, serve, startCandidate } from '../../harness/child.mjs';
import { cpuMs, now } from '../../harness/clock.mjs';

const AT_ONCE = 50;
/** How many elections are started at the same time on one session. */
const MANY_AT_ONCE = 500;
/** @type {Session[]} */
const sessions = [];
/** @type {LeaderElector[]} */
const electors = [];
/** @type {ElectionSupervisor[]} */
const supervisors = [];

/**
 * The times after the loss at which supervisors were elected, and at which all had joined again.
 *
 * @type {Promise<{ elected: number[], joinedAt: number }>}
 */
let recovery;

serve({
  /** Starts candidates of one election, of which the first one leads. */
  join: async ({ connect, path, count, sessionTimeoutMs }) => {
    await forEach(count, AT_ONCE, async (index) => {
      const session = await Session.connect(connect, { sessionTimeoutMs });
      sessions[index] = session;
      session.on('error', (error) => console.error(error));
    });
    // The leader first, then the next candidate, then the others.
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, count],
    ])
      await forEach(/** @type {number} */ (to) - /** @type {number} */ (from), AT_ONCE, async (index) => {
        const session = /** @type {Session} */ (sessions[/** @type {number} */ (from) + index]);
        const elector = new LeaderElector(session, path);
        electors.push(elector);
        await startCandidate(elector);
      });
  },
  supervise: async ({ connect, path, count, sessionTimeoutMs }) => {
    await forEach(count, AT_ONCE, async () => {
      const supervisor = new ElectionSupervisor({
        connect,
        path,
        session: { sessionTimeoutMs },
        guardian: false,
      });
      supervisor.on('error', (error) => console.error(String(error)));
      supervisors.push(supervisor);
      await startCandidate(supervisor);
    });
    /** @type {number[]} */
    const elected = [];
    recovery = new Promise((resolve) => {
      let joined = 0;
      const finish = () => {
        if (joined === count && elected.length > 0) resolve({ elected, joinedAt });
      };
      let joinedAt = 0;
      for (const supervisor of supervisors) {
        let placed = false;
        const onJoined = () => {
          if (placed || !expired.has(supervisor)) return;
          placed = true;
          joined++;
          finish();
        };
        supervisor
          .on('expired', () => expired.add(supervisor))
          .on('waiting', () => {
            // `elected` doesn't set this, because the leader may have waited for the takeover delay.
            joinedAt = now();
            onJoined();
          })
          .on('elected', () => {
            if (!expired.has(supervisor)) return;
            elected.push(now());
            onJoined();
            finish();
          });
      }
    });
    /** @type {Set<ElectionSupervisor>} */
    const expired = new Set();
  },
  recovered: () => recovery,
  leave: () => Promise.all(supervisors.map((supervisor) => supervisor.stop())),
  /** Starts many elections on one session, which leads all of them. */
  standInMany: async ({ connect, path, count, sessionTimeoutMs }) => {
    const session = await Session.connect(connect, { sessionTimeoutMs });
    sessions.push(session);
    session.on('error', (error) => console.error(error));
    let suspended = 0;
    session.on('suspended', () => suspended++);
    const began = now();
    await forEach(count, MANY_AT_ONCE, async (index) => {
      const elector = new LeaderElector(session, `${path}/election-${index}`);
      electors[index] = elector;
      const elected = new Promise((resolve) => elector.once('elected', resolve));
      await elector.start();
      await elected;
    });
    return { tookMs: now() - began, suspended, session: session.state.name };
  },
  leading: () => electors.filter((elector) => elector.term?.isHeld()).length,
  stop: async () => {
    const began = now();
    await Promise.all(electors.map((elector) => elector.stop()));
    return now() - began;
  },
  cpuMs,
});

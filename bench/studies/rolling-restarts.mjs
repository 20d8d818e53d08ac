/**
 * Counts how often elections change hands while the servers are restarted one after the other, with both ways to take over:
 * `npm run build && node bench/studies/rolling-restarts.mjs`. During each restart of the leading server, the
 * ensemble accepts no write for a second or more. The elections of both ways are on the same servers, with the same lease. Arguments: the
 * number of restarts, the number of elections of each way, and the lease in milliseconds.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { LeaderElector, Session } from 'conclave';
import { pino } from 'pino';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';

const [RESTARTS = 30, ELECTIONS = 10, LEASE_MS = 2000] = process.argv.slice(2).map(Number);
const CANDIDATES = 3;
const SESSION_TIMEOUT_MS = 6000;
const SETTLE_MS = 3000; // Between two restarts: longer than a takeover.
const logger = pino({ level: 'silent' }); // Each session would log a line at each restart.
const WAYS = /** @type {const} */ (['lease', 'session']);

/** The counts of the elections of one way. */
class Count {
  terms = 0;
  /** @type {Map<string, number>} */
  demoted = new Map();
  /** How often two candidates of one election held their terms at the same time. */
  overlaps = 0;

  /** @param {LeaderElector} elector @param {Set<LeaderElector>} rivals */
  follow(elector, rivals) {
    elector.on('elected', (term) => {
      this.terms++;
      for (const rival of rivals)
        if (rival !== elector && rival.term?.isHeld() && term.isHeld()) this.overlaps++;
    });
    elector.on('demoted', (_, reason) => this.demoted.set(reason, (this.demoted.get(reason) ?? 0) + 1));
  }
}

/** One election: its path, and the candidates with a session each. */
class Election {
  /** @type {Session[]} */
  #sessions = [];
  /** @type {LeaderElector[]} */
  #electors = [];

  /** @param {string} path */
  constructor(path) {
    this.path = path;
  }

  /** @param {string} connect @param {'lease' | 'session'} takeover @param {Count} count */
  async start(connect, takeover, count) {
    /** @type {Set<LeaderElector>} */
    const rivals = new Set();
    for (let candidate = 0; candidate < CANDIDATES; candidate++) {
      const session = await Session.connect(connect, {
        sessionTimeoutMs: SESSION_TIMEOUT_MS,
        leaseMs: LEASE_MS,
        logger,
      });
      session.on('error', () => undefined); // A restarting server refuses connections.
      const elector = new LeaderElector(session, this.path, { takeover });
      elector.on('error', (error) => console.error(`${this.path}: ${error.message}`));
      count.follow(elector, rivals);
      rivals.add(elector);
      this.#sessions.push(session);
      this.#electors.push(elector);
      await elector.start();
    }
  }

  /** The number of the last term that was claimed. */
  async lastTerm() {
    const [session] = this.#sessions;
    if (session === undefined) return 0;
    const { data } = await session.getData(this.path);
    return JSON.parse(String(data)).term;
  }

  async stop() {
    await Promise.all(this.#electors.map((elector) => elector.stop()));
    await Promise.all(this.#sessions.map((session) => session.close()));
  }
}

const ensemble = await startZooKeeper({
  servers: 3,
  tickMs: 2000,
  settings: { initLimit: 10, syncLimit: 5 },
});
const counts = new Map(WAYS.map((way) => [way, new Count()]));
/** @type {Map<'lease' | 'session', Election[]>} */
const elections = new Map();
for (const [way, count] of counts) {
  const started = Array.from({ length: ELECTIONS }, (_, at) => new Election(`/${way}-${at}`));
  await Promise.all(started.map((election) => election.start(ensemble.connectString, way, count)));
  elections.set(way, started);
}
await pause(SETTLE_MS);

let leaderRestarts = 0;
for (let restart = 0; restart < RESTARTS; restart++) {
  const server = ensemble.servers[restart % 3];
  if (server === undefined) break;
  if ((await server.mode()) === 'leader') leaderRestarts++;
  await server.stop();
  await server.start();
  await pause(SETTLE_MS);
  process.stderr.write(`restart ${restart + 1} of ${RESTARTS}\n`);
}

console.log(
  `${RESTARTS} restarts, ${leaderRestarts} of the server that led; ${ELECTIONS} elections of each way, ${CANDIDATES} candidates each; lease ${LEASE_MS} ms, session ${SESSION_TIMEOUT_MS} ms`,
);
console.log(
  '| takeover | terms that began | claims that succeeded without a term | held at once | demoted |',
);
console.log('|---|---|---|---|---|');
for (const [way, { terms, demoted, overlaps }] of counts) {
  const last = await Promise.all((elections.get(way) ?? []).map((election) => election.lastTerm()));
  const claims = last.reduce((sum, term) => sum + term, 0);
  const reasons = [...demoted].map(([reason, times]) => `${reason} ${times}`).join(', ');
  console.log(`| ${way} | ${terms} | ${claims - terms} | ${overlaps} | ${reasons} |`);
}
await Promise.all([...elections.values()].flat().map((election) => election.stop()));
await ensemble.stop();

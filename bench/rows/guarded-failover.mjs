import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { SessionGuardian } from 'conclave';
import { quantile, rounded } from '../harness/quantiles.mjs';
import { startServers } from '../harness/servers.mjs';

const WORKER = fileURLToPath(new URL('processes/supervised-worker.mjs', import.meta.url));
// A guardian hears of a new worker within its first greetings; a round begins when it has.
const GUARDED_BY_THEN_MS = 500;
const BAR_MS = 15;

/**
 * How long it takes until somebody leads again when a leader's process was killed, with a guardian in its parent and
 * without, for more than one session timeout.
 *
 * Each worker is a process of its own, with a warm successor that waits. Counted from the news of the process's end until
 * the successor's `elected`, by the machine's monotonic clock. The rounds without a guardian are waited for while those with
 * one take place, each in an election of its own.
 *
 * @param {import('../harness/finding.mjs').Bench} bench
 * @returns {Promise<import('../harness/finding.mjs').Finding>}
 */
export default async function guardedFailover({ quick, say }) {
  const plan = quick
    ? { rounds: 3, sessionTimeoutsMs: [10_000, 30_000], unguarded: { rounds: 1, sessionTimeoutsMs: [4000] } }
    : {
        rounds: 50,
        sessionTimeoutsMs: [10_000, 30_000],
        unguarded: { rounds: 8, sessionTimeoutsMs: [10_000, 30_000] },
      };
  const servers = await startServers();
  const guardian = new SessionGuardian({ connect: servers.connect });
  guardian.on('error', (error) => console.error(error));
  try {
    const { connect } = servers;
    const unguarded = await begin(connect, plan.unguarded);
    say(`guarded failover: ${unguarded.length} leaders without a guardian were killed`);
    const successions = plan.sessionTimeoutsMs.map(
      (sessionTimeoutMs) =>
        new Succession({ connect, path: `/guarded-${sessionTimeoutMs}`, sessionTimeoutMs, guardian }),
    );
    for (let round = 0; round < plan.rounds; round++) {
      await Promise.all(successions.map((succession) => succession.prepare()));
      // One after the other, so that neither disturbs the other.
      for (const succession of successions) await succession.fail();
      if (round % 10 === 9) say(`guarded failover: ${round + 1} of ${plan.rounds} rounds`);
    }
    await Promise.all(successions.map((succession) => succession.end()));
    const times = [
      ...successions.map(({ sessionTimeoutMs, tookMs }) => ({ guarded: true, sessionTimeoutMs, tookMs })),
      ...(await finish(unguarded)),
    ];
    return report(times);
  } finally {
    await guardian.close();
    await servers.stop();
  }
}

/** One worker, and when it was elected. */
class Worker {
  /** @param {{ connect: string, path: string, sessionTimeoutMs: number }} place */
  constructor({ connect, path, sessionTimeoutMs }) {
    this.child = fork(WORKER, [connect, path, String(sessionTimeoutMs)]);
    /** @type {Promise<bigint>} */
    this.elected = new Promise((resolve) => {
      this.child.on('message', (message) => {
        if (typeof message === 'object' && message !== null && 'electedAt' in message)
          resolve(BigInt(/** @type {string} */ (message.electedAt)));
      });
    });
    this.standing = new Promise((resolve) => {
      this.child.on('message', (message) => message === 'standing' && resolve(undefined));
    });
  }

  /** Kills it, and gives when its end was known. */
  async kill() {
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
    return process.hrtime.bigint();
  }
}

/** An election in which one leader after the other is killed. */
class Succession {
  #place;
  #guardian;
  /** @type {Worker | undefined} */
  #leader;
  /** @type {Worker | undefined} */
  #next;
  /** @type {number[]} */
  tookMs = [];

  /** @param {{ connect: string, path: string, sessionTimeoutMs: number, guardian?: SessionGuardian }} place */
  constructor({ guardian, ...place }) {
    this.#place = place;
    this.#guardian = guardian;
    this.sessionTimeoutMs = place.sessionTimeoutMs;
  }

  /** One leads and one waits, and the guardian knows of both. */
  async prepare() {
    this.#leader ??= await this.#start();
    await this.#leader.elected;
    this.#next = await this.#start();
    if (this.#guardian !== undefined) await new Promise((resolve) => setTimeout(resolve, GUARDED_BY_THEN_MS));
  }

  async #start() {
    const worker = new Worker(this.#place);
    this.#guardian?.watch(worker.child);
    await worker.standing;
    return worker;
  }

  /** Kills the leader, and notes how long it took until the other one led. */
  async fail() {
    const former = this.#leader;
    const next = this.#next;
    if (former === undefined || next === undefined) throw new Error('nobody was prepared');
    const endedAt = await former.kill();
    this.tookMs.push(Number((await next.elected) - endedAt) / 1e6);
    this.#leader = next;
  }

  async end() {
    await this.#leader?.kill();
  }
}

/** @param {string} connect @param {{ rounds: number, sessionTimeoutsMs: number[] }} plan */
async function begin(connect, { rounds, sessionTimeoutsMs }) {
  const successions = sessionTimeoutsMs.flatMap((sessionTimeoutMs) =>
    Array.from(
      { length: rounds },
      (_, round) =>
        new Succession({ connect, path: `/unguarded-${sessionTimeoutMs}-${round}`, sessionTimeoutMs }),
    ),
  );
  for (const succession of successions) await succession.prepare();
  return successions.map((succession) => ({ succession, failed: succession.fail() }));
}

/** @param {{ succession: Succession, failed: Promise<void> }[]} unguarded @returns {Promise<Times[]>} */
async function finish(unguarded) {
  await Promise.all(unguarded.map(({ failed }) => failed));
  await Promise.all(unguarded.map(({ succession }) => succession.end()));
  const timeouts = [...new Set(unguarded.map(({ succession }) => succession.sessionTimeoutMs))];
  return timeouts.map((sessionTimeoutMs) => ({
    guarded: false,
    sessionTimeoutMs,
    tookMs: unguarded
      .filter(({ succession }) => succession.sessionTimeoutMs === sessionTimeoutMs)
      .flatMap(({ succession }) => succession.tookMs),
  }));
}

/** @typedef {{ guarded: boolean, sessionTimeoutMs: number, tookMs: number[] }} Times */

/** @param {Times[]} times @returns {import('../harness/finding.mjs').Finding} */
function report(times) {
  return {
    id: 'guarded-failover',
    title: "Failover after kill -9 of the leader's process",
    columns: ['guardian', 'session timeout ms', 'rounds', 'p50 ms', 'p90 ms', 'longest ms'],
    table: times.map(({ guarded, sessionTimeoutMs, tookMs }) => [
      guarded ? 'yes' : 'no',
      sessionTimeoutMs,
      tookMs.length,
      ...[0.5, 0.9, 1].map((share) => rounded(quantile(tookMs, share))),
    ]),
    bars: times
      .filter(({ guarded }) => guarded)
      .map(({ sessionTimeoutMs, tookMs }) => ({
        what: `guarded failover p50, session timeout ${sessionTimeoutMs / 1000} s`,
        measured: rounded(quantile(tookMs, 0.5), 2),
        bar: BAR_MS,
        unit: 'ms',
      })),
    notes: [
      "From the news of the process's end, in its parent, until the successor's `elected`, in another process.",
      'One server with its data in memory and ticks of 500 ms; the session timeouts take turns.',
      'Without a guardian it is the session timeout, what is left of a tick, and the takeover delay.',
    ],
    data: { times },
  };
}

/** Connections that are cut at any byte of the handshake and of SASL, at a real server that requires SASL. */
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import type { Term } from '../../src/election/term/term.js';
import { ignore } from '../../src/platform/async/promises.js';
import { Session } from '../../src/session/session.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { fourLetterWord } from '../../tools/zookeeper/four-letter-word.mjs';
import { uniquePath } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { Random } from '../support/seeded-random.js';
import { jaasFor, SASL_PROVIDER } from '../support/servers/jaas.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

// By hand: SOAK_ROUNDS=200 npx vitest run --project chaos test/chaos/cut-authentication.test.ts, and SOAK_SEED=N for the same cuts again.
const ROUNDS = Number(process.env.SOAK_ROUNDS ?? 40);
const SEED = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 2 ** 32));
const CLIENTS = 8; // At the same time, because a search pauses after each cut.
const TIMEOUT_MS = 60_000 + ROUNDS * 2000;
const SASL = { username: 'worker', password: 'worker-secret' };
/** In each direction: the handshake, two tokens and the ping. */
const MESSAGES = 4;
// A lease of 20 s is longer than a round, also on a busy machine.
const LEASE_MS = 20_000;
const SESSION = { sasl: SASL, sessionTimeoutMs: 3 * LEASE_MS, logger: SILENT } as const;

let zookeeper: Awaited<ReturnType<typeof startZooKeeper>>;

beforeAll(async () => {
  const settings = { ...SASL_PROVIDER, 'enforce.auth.enabled': 'true', 'enforce.auth.schemes': 'sasl' };
  zookeeper = await startZooKeeper({ settings, jaas: jaasFor({ [SASL.username]: SASL.password }) });
});

afterAll(() => zookeeper?.stop());

/** How many bytes each direction has until a session is open. */
async function measure() {
  const proxy = await startProxy(zookeeper.connectString);
  const session = await Session.connect(proxy.connectString, SESSION);
  const [traffic] = proxy.takeTraffic();
  await session.close();
  return { upstream: traffic?.bytesOut as number, downstream: traffic?.bytesIn as number };
}

/** Behind a message, or anywhere. */
function anyCut(random: Random, size: Awaited<ReturnType<typeof measure>>) {
  const direction = random.pick(['upstream', 'downstream'] as const);
  const messages = { messages: random.below(MESSAGES + 1) };
  return { direction, ...(random.chance(0.5) ? messages : { bytes: random.below(size[direction]) }) };
}

/** As {@link anyCut}, but not before the client has the answer to its handshake. */
function lateCut(random: Random) {
  const direction = random.pick(['upstream', 'downstream'] as const);
  const first = direction === 'upstream' ? 2 : 1; // The first token shows that the client has it.
  const messages = first + random.below(MESSAGES + 1 - first);
  return { direction, messages, bytes: messages < MESSAGES && random.chance(0.5) ? random.below(12) : 0 };
}

/** The ids of the sessions that the server has, as it writes them. */
async function sessionsAtServer(): Promise<string[]> {
  const dump = await fourLetterWord(zookeeper.servers[0]?.port as number, 'dump');
  const [, expiring = ''] = /SessionTracker dump:([\s\S]*?)ephemeral nodes dump/.exec(dump) ?? [];
  return [...expiring.matchAll(/^\t(0x[0-9a-f]+)$/gm)].map(([, id]) => id as string).sort();
}

const idOf = ({ credentials }: Session) => `0x${BigInt.asUintN(64, credentials.id).toString(16)}`;

/** Runs the rounds, spread over the clients. An error names the seed. */
async function inRounds(client: (random: Random, rounds: number) => Promise<void>): Promise<void> {
  const counts = Array.from({ length: CLIENTS }, (_, nth) => Math.floor((ROUNDS + nth) / CLIENTS));
  try {
    await Promise.all(counts.map((rounds, nth) => client(new Random(SEED, nth), rounds)));
  } catch (error) {
    throw new Error(`with SOAK_SEED=${SEED} and SOAK_ROUNDS=${ROUNDS}`, { cause: error });
  }
  if (process.env.SOAK_ROUNDS !== undefined) console.log(`${ROUNDS} cuts, seed ${SEED}`);
}

it(
  `a supervisor keeps its session, its nodes and its term over ${ROUNDS} cuts within the authentication`,
  async () => {
    const size = await measure();
    const ids: string[] = [];
    await inRounds(async (random, rounds) => {
      const proxy = await startProxy(zookeeper.connectString);
      const options = { connect: proxy.connectString, session: SESSION, cleanup: ignore, logger: SILENT };
      const supervisor = new ElectionSupervisor({ path: uniquePath('election'), ...options });
      onTestFinished(() => supervisor.stop());
      const events: unknown[] = [];
      supervisor
        .on('demoted', (_, reason) => events.push(reason))
        .on('expired', () => events.push('expired'));
      const [term] = await eventAfter<[Term]>(supervisor, 'elected', () => supervisor.start());
      const session = await supervisor.session();
      const node = uniquePath('mine');
      await session.create(node, { mode: 'ephemeral' });
      for (let round = 0; round < rounds; round++) {
        const cut = anyCut(random, size);
        const came = proxy.cutNextConnection(cut.direction, cut);
        proxy.dropConnections();
        await came;
        const { stat } = await session.retryUntilAnswered(() => session.getData(node));
        // Connections that end before the answer to their first heartbeat, round after round, would use up the lease.
        await until(
          () => !term.isHeld() || term.remainingMs() > 0.75 * LEASE_MS,
          'the answer to a heartbeat',
        );
        expect([session.owns(stat), term.isHeld(), events], JSON.stringify(cut)).toEqual([true, true, []]);
      }
      expect(await supervisor.session()).toBe(session);
      ids.push(idOf(session));
    });
    expect(await sessionsAtServer()).toEqual(ids.sort());
  },
  TIMEOUT_MS,
);

it(
  `a session is left behind by none of ${ROUNDS} cuts within the authentication of its first connection`,
  async () => {
    const before = await sessionsAtServer();
    await inRounds(async (random, rounds) => {
      const proxy = await startProxy(zookeeper.connectString);
      for (let round = 0; round < rounds; round++) {
        const cut = lateCut(random);
        const came = proxy.cutNextConnection(cut.direction, cut);
        const opening = Session.connect(proxy.connectString, SESSION);
        await came;
        await (await opening).close();
      }
    });
    expect(await sessionsAtServer()).toEqual(before);
  },
  TIMEOUT_MS,
);

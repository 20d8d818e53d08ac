/**
 * Measures the embedded ZooKeeper: its start, 5,000 sessions with 100,000 znodes and their watches, requests per second, and
 * whether it frees the memory afterwards. Needs `npm run build` before.
 *
 *     node --expose-gc bench/studies/embedded-server.mjs
 *
 * The clients are sockets in another process, so that the figures of this process are those of the server.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { EmbeddedZooKeeper } from 'conclave/testing';
import { median, quantile } from '../harness/quantiles.mjs';

const SESSIONS = 5000;
const NODES_EACH = 20;
const REQUESTS_PER_SECOND = 10_000;
const LOAD_SECONDS = 10;
const silent = { debug: ignore, info: ignore, warn: ignore, error: console.error };

function ignore() {
  return undefined;
}

/** @param {number} value */
const int = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
/** @param {string | Buffer} value */
const bytes = (value) => Buffer.concat([int(Buffer.byteLength(value)), Buffer.from(value)]);
/** @param {number} xid @param {number} type @param {Buffer[]} body */
const packet = (xid, type, ...body) => bytes(Buffer.concat([int(xid), int(type), ...body]));
const OPEN_ACL = Buffer.concat([int(1), int(31), bytes('world'), bytes('anyone')]);
const HANDSHAKE = bytes(
  Buffer.concat([
    int(0),
    Buffer.alloc(8),
    int(30_000),
    Buffer.alloc(8),
    bytes(Buffer.alloc(16)),
    Buffer.alloc(1),
  ]),
);

/** A client that sends requests and counts the answers. */
class Client {
  /** @param {number} port */
  constructor(port) {
    this.answered = 0;
    this.socket = connect(port, '127.0.0.1').setNoDelay(true);
    this.socket.on('error', (error) => console.error(String(error)));
    this.socket.write(HANDSHAKE);
    let rest = Buffer.alloc(0);
    this.socket.on('data', (chunk) => {
      let all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      while (all.length >= 4 && all.length >= 4 + all.readInt32BE(0)) {
        all = all.subarray(4 + all.readInt32BE(0));
        this.answered++;
        this.onAnswer?.();
      }
      rest = all;
    });
  }

  /** @type {(() => void) | undefined} */
  onAnswer;

  /** @param {number} count */
  answers(count) {
    return new Promise((resolve) => {
      this.onAnswer = () => this.answered >= count && resolve(undefined);
      this.onAnswer();
    });
  }
}

const CREATE = 1;
const GET_DATA = 4;
const SET_DATA = 5;
const CLOSE = -11;

/** The clients' process, which carries out the commands of the server's process. @param {number} port */
async function clients(port) {
  /** @type {Client[]} */
  let all = [];
  /** @type {Record<string, () => Promise<unknown>>} */
  const orders = {
    open: async () => {
      for (let i = 0; i < SESSIONS; i += 500) {
        const group = Array.from({ length: 500 }, () => new Client(port));
        all.push(...group);
        await Promise.all(group.map((client) => client.answers(1)));
      }
    },
    fill: () =>
      Promise.all(
        all.map((client, i) => {
          for (let n = 0; n < NODES_EACH; n++)
            client.socket.write(
              packet(n, CREATE, bytes(`/node-${i}-${n}`), bytes('some data'), OPEN_ACL, int(1)),
            );
          client.socket.write(packet(99, GET_DATA, bytes(`/node-${i}-0`), Buffer.from([1])));
          return client.answers(1 + NODES_EACH + 1);
        }),
      ),
    load: () => load(all),
    saturate: () => saturate(all.slice(0, 50)),
    close: async () => {
      for (const client of all) client.socket.write(packet(100, CLOSE));
      await Promise.all(all.map(({ socket }) => socket.closed || once(socket, 'close')));
      all = [];
    },
  };
  process.on('message', async (/** @type {string} */ order) => {
    const began = performance.now();
    const result = await orders[order]?.();
    process.send?.({ ms: performance.now() - began, result });
  });
}

/** A third of the requests write. @param {number} i */
const request = (i) =>
  i % 3 === 0
    ? packet(i, SET_DATA, bytes(`/node-${i % SESSIONS}-1`), bytes('other data'), int(-1))
    : packet(i, GET_DATA, bytes(`/node-${i % SESSIONS}-1`), Buffer.from([0]));

/** Sends requests at a fixed rate, over all sessions in turn, and measures the time of each. @param {Client[]} all */
async function load(all) {
  /** @type {number[]} */
  const tookMs = [];
  /** @type {Map<Client, number[]>} */
  const sentAt = new Map(all.map((client) => [client, []]));
  for (const client of all) {
    client.onAnswer = () => {
      const at = sentAt.get(client)?.shift();
      if (at !== undefined) tookMs.push(performance.now() - at);
    };
  }
  const began = performance.now();
  let sent = 0;
  while (sent < REQUESTS_PER_SECOND * LOAD_SECONDS) {
    const due = Math.min(
      REQUESTS_PER_SECOND * LOAD_SECONDS,
      ((performance.now() - began) * REQUESTS_PER_SECOND) / 1000,
    );
    for (; sent < due; sent++) {
      const client = /** @type {Client} */ (all[sent % all.length]);
      sentAt.get(client)?.push(performance.now());
      client.socket.write(request(sent));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  while (tookMs.length < sent) await new Promise((resolve) => setTimeout(resolve, 5));
  return { p50: median(tookMs), p99: quantile(tookMs, 0.99), max: quantile(tookMs, 1) };
}

/** Sends requests as fast as possible, with 20 outstanding on each connection. @param {Client[]} some */
async function saturate(some) {
  const EACH = 4000;
  await Promise.all(
    some.map((client, c) => {
      const before = client.answered;
      let sent = 0;
      const more = () => client.socket.write(request(c * EACH + sent++));
      return new Promise((resolve) => {
        client.onAnswer = () => {
          if (sent < EACH) more();
          if (client.answered - before >= EACH) resolve(undefined);
        };
        for (let i = 0; i < 20; i++) more();
      });
    }),
  );
  return some.length * EACH;
}

async function measure() {
  const beganAt = performance.now();
  const server = await EmbeddedZooKeeper.start({ tickMs: 2000, logger: silent });
  console.log(`start                 ${(performance.now() - beganAt).toFixed(1)} ms`);
  const child = fork(import.meta.filename, [String(server.port)]);
  const memory = () => {
    globalThis.gc?.();
    return `${(process.memoryUsage().heapUsed / 2 ** 20).toFixed(1)} MB of heap, ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MB resident`;
  };
  /** @param {string} order */
  const command = async (order) => {
    const cpu = process.cpuUsage();
    child.send(order);
    const [answer] = await once(child, 'message');
    const used = process.cpuUsage(cpu);
    return { ...answer, cpu: (used.user + used.system) / 1000 / answer.ms };
  };
  console.log(`empty                 ${memory()}`);
  for (const round of [1, 2, 3]) {
    const opened = await command('open');
    console.log(`${SESSIONS} sessions         ${opened.ms.toFixed(0)} ms, round ${round}`);
    const filled = await command('fill');
    console.log(
      `${SESSIONS * NODES_EACH} znodes         ${filled.ms.toFixed(0)} ms (${((SESSIONS * NODES_EACH) / filled.ms).toFixed(1)} a millisecond), ${server.paths().length} there, ${server.watchCount()} watches`,
    );
    console.log(`full                  ${memory()}`);
    const { result, cpu } = await command('load');
    console.log(
      `${REQUESTS_PER_SECOND} requests/s      ${(100 * cpu).toFixed(0)} % of a core; answered within ${result.p50.toFixed(2)} ms (median), ${result.p99.toFixed(1)} ms (p99), ${result.max.toFixed(0)} ms (longest)`,
    );
    const saturated = await command('saturate');
    console.log(
      `at most               ${((1000 * saturated.result) / saturated.ms).toFixed(0)} requests/s, at ${(100 * saturated.cpu).toFixed(0)} % of a core`,
    );
    const closed = await command('close');
    console.log(
      `closed                ${closed.ms.toFixed(0)} ms, ${server.paths().length} znodes, ${server.watchCount()} watches left`,
    );
    server.resetCounts();
    console.log(`empty again           ${memory()}`);
  }
  child.kill();
  await server.stop();
}

const port = process.argv[2];
await (port === undefined ? measure() : clients(Number(port)));

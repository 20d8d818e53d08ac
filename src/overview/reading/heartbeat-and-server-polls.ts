import { isIP } from 'node:net';
import { deferred, ignore, settledWithin } from '../../platform/async/promises.js';
import type { Server } from '../../platform/injected-environment.js';
import { lookUp } from '../../platform/name-lookups.js';
import type { Timer } from '../../platform/time/clock.js';
import { halfLeaseMs } from '../../platform/time/heartbeat-intervals.js';
import { heartbeatNodeOf } from '../../queue/names-and-order.js';
import { openTransport } from '../../session/connection/tcp-and-tls.js';
import type { Session } from '../../session/session.js';
import type { LeaderView, ServerView } from '../model/view-types.js';
import type { Reading } from './reader-resources.js';

const LEAST_MS = 250;
const TICK_MS = 250;

interface Polled {
  dueMs: number;
  /** By the servers' clock. */
  newestMs: number | undefined;
  isAsked: boolean;
}

/** Reads the newest heartbeat of each leader, twice in a lease, until it is stopped. Each time is one read without a watch. */
export class HeartbeatPoll {
  readonly #reading: Reading;
  /** By path and node. */
  #polled = new Map<string, Polled>();
  #timer: Timer | undefined;
  #hasStopped = false;

  constructor(reading: Reading) {
    this.#reading = reading;
    this.#tick();
  }

  stop(): void {
    this.#hasStopped = true;
    this.#timer?.clear();
  }

  #tick(): void {
    const { session, model } = this.#reading;
    this.#timer = session.clock.after(TICK_MS, () => this.#tick(), { background: true });
    if (session.state.name !== 'connected') return;
    const nowMs = session.clock.now();
    const known = this.#polled;
    this.#polled = new Map();
    for (const { path, leader } of model.leaders()) {
      const key = `${path} ${leader.node}`;
      const state = known.get(key) ?? { dueMs: nowMs, newestMs: undefined, isAsked: false };
      this.#polled.set(key, state);
      if (state.isAsked || state.dueMs > nowMs) continue;
      state.dueMs = nowMs + Math.max(LEAST_MS, halfLeaseMs(leader.leaseMs));
      void this.#ask(path, leader, state); // Never rejects.
    }
  }

  async #ask(path: string, leader: LeaderView, state: Polled): Promise<void> {
    const { session, slots, serverClock, model } = this.#reading;
    state.isAsked = true;
    try {
      const stat = await slots.run(() => session.exists(`${path}/${heartbeatNodeOf(leader.node)}`));
      if (this.#hasStopped || stat === undefined || stat.modifiedAtMs === state.newestMs) return;
      if (state.newestMs !== undefined) serverClock.sample(stat.modifiedAtMs, session.clock.date().getTime());
      state.newestMs = stat.modifiedAtMs;
      model.beat(path, leader, serverClock.toLocal(stat.modifiedAtMs));
    } catch {
      // A server refuses, or no server answers: the leader's heartbeats can't be seen now. The next round asks again.
    } finally {
      state.isAsked = false;
    }
  }
}

const EVERY_MS = 5000;
const ANSWER_WITHIN_MS = 2000;
const MOST_BYTES = 4096;

/** Asks each server of the ensemble for its role, every 5 s, until it is stopped. */
export class ServerPoll {
  readonly #reading: Reading;
  #timer: Timer | undefined;
  #hasStopped = false;

  constructor(reading: Reading) {
    this.#reading = reading;
    void this.#round(); // Never rejects.
  }

  stop(): void {
    this.#hasStopped = true;
    this.#timer?.clear();
  }

  async #round(): Promise<void> {
    const { session, model } = this.#reading;
    const { servers } = session.ensemble;
    const answers = await statusesOf(session, servers);
    if (this.#hasStopped) return;
    const ours = session.server;
    model.polled(
      servers.map((server, at) => ({
        address: addressOf(server),
        isOurs: ours !== undefined && addressOf(ours) === addressOf(server),
        ...(answers[at] as ServerStatus),
      })),
    );
    this.#timer = session.clock.after(EVERY_MS, () => void this.#round(), { background: true });
  }
}

export function addressOf({ host, port }: Server): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

type ServerStatus = Pick<ServerView, 'role' | 'version'>;

/**
 * The session's connection outlives its certificate, and these questions don't. So if that connection lives and no server answers, this asks
 * once more, with newer options of TLS. Never rejects.
 */
async function statusesOf(session: Session, servers: readonly Server[]): Promise<ServerStatus[]> {
  const { clock, ensemble } = session;
  const ask = () => Promise.all(servers.map((server) => statusOf(session, server)));
  const answers = await ask();
  const isAnswered = answers.some(({ role }) => role !== 'unreachable');
  if (isAnswered || ensemble.tls === undefined || session.state.name !== 'connected') return answers;
  await settledWithin(clock, ensemble.renewTls(), ANSWER_WITHIN_MS);
  return await ask();
}

/** Over a connection of its own, which the server ends when it has answered. Never rejects. */
async function statusOf(session: Session, server: Server): Promise<ServerStatus> {
  const { environment, ensemble } = session;
  const answered = deferred<string>(); // '' if there is no answer.
  const fail = () => answered.resolve('');
  let end = ignore;
  let isOver = false;
  const timer = session.clock.after(ANSWER_WITHIN_MS, fail, { background: true });
  const ask = async () => {
    const [address] = await lookUp(server.host, environment);
    if (address === undefined) return fail();
    if (isOver) return;
    const { socket, ready, incoming } = openTransport({ server, address }, environment, ensemble.tls);
    end = () => void socket.destroy();
    let text = '';
    const read = (bytes: Buffer) => {
      text += bytes.toString('latin1');
      if (text.length > MOST_BYTES) answered.resolve(text);
    };
    if (incoming !== undefined) incoming.reader = { read };
    socket.on('data', read);
    socket.on('error', fail);
    socket.on('close', () => answered.resolve(text));
    socket.once(ready, () => socket.write('srvr'));
  };
  ask().catch(fail);
  const answer = await answered.promise;
  isOver = true;
  timer.clear();
  end();
  return answer === '' ? { role: 'unreachable' } : parseServerStatus(answer);
}

const ROLES: ReadonlySet<string> = new Set<ServerView['role']>([
  'leader',
  'follower',
  'observer',
  'standalone',
]);

/**
 * What a server says of itself, in its answer to the command `srvr`. `unknown`: it gives another answer, for example because the command
 * isn't allowed.
 */
export function parseServerStatus(answer: string): ServerStatus {
  const [, mode = ''] = /^Mode: (\w+)$/m.exec(answer) ?? [];
  const [, version] = /^Zookeeper version: (\d[\w.]{0,20})/m.exec(answer) ?? [];
  const role = ROLES.has(mode) ? (mode as ServerView['role']) : 'unknown';
  return { role, ...(version !== undefined && { version }) };
}

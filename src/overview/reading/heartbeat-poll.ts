import type { Timer } from '../../platform/time/clock.js';
import { heartbeatNodeOf } from '../../queue/heartbeat-name.js';
import type { Session } from '../../session/session.js';
import type { ServerClock } from '../model/server-clock.js';
import type { LeaderView } from '../model/views.js';
import type { ReadSlots } from './paced-watch.js';

/** A leader, and the election that it leads. */
export interface PolledLeader {
  readonly path: string;
  readonly leader: LeaderView;
}

export interface HeartbeatPollPort {
  readonly session: Session;
  readonly slots: ReadSlots;
  readonly serverClock: ServerClock;
  /** The leaders whose heartbeats can be seen. */
  leaders(): readonly PolledLeader[];
  /** @param at - when the leader's newest heartbeat was committed, by this process's clock */
  onHeartbeat(polled: PolledLeader, at: number): void;
}

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
  readonly #port: HeartbeatPollPort;
  /** By path and node. */
  #polled = new Map<string, Polled>();
  #timer: Timer | undefined;
  #hasStopped = false;

  constructor(port: HeartbeatPollPort) {
    this.#port = port;
    this.#tick();
  }

  stop(): void {
    this.#hasStopped = true;
    this.#timer?.clear();
  }

  #tick(): void {
    const { session } = this.#port;
    this.#timer = session.clock.after(TICK_MS, () => this.#tick(), { background: true });
    if (session.state.name !== 'connected') return;
    const nowMs = session.clock.now();
    const leaders = this.#port.leaders().map((each) => [`${each.path} ${each.leader.node}`, each] as const);
    const known = this.#polled;
    this.#polled = new Map(
      leaders.map(([key]) => [key, known.get(key) ?? { dueMs: nowMs, newestMs: undefined, isAsked: false }]),
    );
    for (const [key, polled] of leaders) {
      const state = this.#polled.get(key) as Polled;
      if (state.isAsked || state.dueMs > nowMs) continue;
      state.dueMs = nowMs + Math.max(LEAST_MS, polled.leader.leaseMs / 2);
      void this.#ask(polled, state); // Never rejects.
    }
  }

  async #ask(polled: PolledLeader, state: Polled): Promise<void> {
    const { session, slots, serverClock } = this.#port;
    const { path, leader } = polled;
    state.isAsked = true;
    try {
      const stat = await slots.run(() => session.exists(`${path}/${heartbeatNodeOf(leader.node)}`));
      if (this.#hasStopped || stat === undefined || stat.modifiedAtMs === state.newestMs) return;
      if (state.newestMs !== undefined) serverClock.sample(stat.modifiedAtMs, session.clock.date().getTime());
      state.newestMs = stat.modifiedAtMs;
      this.#port.onHeartbeat(polled, serverClock.toLocal(stat.modifiedAtMs));
    } catch {
      // A server refuses, or no server answers: the leader's heartbeats can't be seen now. The next round asks again.
    } finally {
      state.isAsked = false;
    }
  }
}

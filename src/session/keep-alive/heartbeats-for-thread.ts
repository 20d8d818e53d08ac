import type { Logger } from '../../platform/logging/logger.js';
import type { Clock } from '../../platform/time/clock.js';
import type { Connection } from '../connection/connection.js';
import type { Repeats } from '../connection/transport.js';
import type { Given, GivenLease, RepeatAnswer } from '../connection-thread/heartbeat-repeater.js';
import { ProofBatch, type ProvenNode } from './heartbeat-batch.js';

/** Whether something is held by the node, so that a thread may repeat its heartbeats. */
export function isHeld({ extendedByThread }: ProvenNode): boolean {
  return extendedByThread !== undefined && extendedByThread.length > 0;
}

const LOGGED_EVERY_MS = 60_000;
/** A stall that is longer by so much than the one that was logged last is logged at once. So a series of them makes few lines. */
const MUCH_LONGER = 1.5;

/** What a thread has sent in place of this one. Must not throw. */
export interface StallListener {
  /** The thread sends nothing more when this one has stood still for so long. */
  readonly maxStallMs: number;
  /** The thread has sent a heartbeat, and it was answered. */
  onRepeated(): void;
  /** This thread stood still for at least that long, and the other one sent its heartbeats, until `maxStallMs` was over. */
  onStall(stalledMs: number): void;
}

/** The heartbeats of one session, as the thread that holds its connection gets them, and what that thread has done with them. */
export class GivenHeartbeats implements Repeats {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listener: StallListener;
  readonly #overdueMs: () => number;
  #lastId = 0;
  readonly #ids = new Map<ProvenNode, number>();
  /** How much memory of each node the thread of this connection has. */
  #sent = new WeakMap<ProvenNode, number>();
  #connection: Connection | undefined;
  #leastGapMs = 0;
  #repeatedAt = Number.NEGATIVE_INFINITY;
  #logged = { at: Number.NEGATIVE_INFINITY, stalledMs: 0 };
  #tookMs: number | undefined;

  /** @param overdueMs - how late this thread's newest heartbeat was, or its next one is by now */
  constructor(clock: Clock, logger: Logger, listener: StallListener, overdueMs: () => number) {
    this.#clock = clock;
    this.#logger = logger;
    this.#listener = listener;
    this.#overdueMs = overdueMs;
  }

  /**
   * Gives the thread the heartbeats as they are when {@link Connection.give} asks. It may repeat those of the nodes by which something is
   * held.
   * @param of - the nodes, and the batches of all of them
   */
  give(
    connection: Connection,
    times: Pick<Given, 'leaseMs' | 'sessionTimeoutMs'>,
    of: () => { readonly nodes: readonly ProvenNode[]; readonly batches: readonly ProofBatch[] },
    isUrgent: boolean,
  ): void {
    this.#leastGapMs = times.leaseMs / 4;
    if (connection !== this.#connection) this.#sent = new WeakMap();
    this.#connection = connection;
    const given = (): Given => {
      const { nodes, batches } = of();
      const held = nodes.filter(isHeld);
      // Then the thread's heartbeats are the main thread's.
      const areSame = held.length === nodes.length && nodes.every(({ raised }) => raised === undefined);
      const idOf = (node: ProvenNode) => this.#idOf(node);
      const heartbeats = batches.map((batch) => batch.given(idOf, areSame));
      if (!areSame) heartbeats.push(...ProofBatch.of(held, true).map((batch) => batch.given(idOf, true)));
      return { ...times, heartbeats, leases: held.flatMap((node) => this.#unsent(node)) };
    };
    connection.give(given, this, isUrgent);
  }

  /** Cloning thousands of them takes longer than all the rest, so the thread gets each once. */
  #unsent(node: ProvenNode): GivenLease[] {
    const memory = node.extendedByThread ?? [];
    if (this.#sent.get(node) === memory.length) return [];
    this.#sent.set(node, memory.length);
    return [{ id: this.#idOf(node), memory }];
  }

  /** The thread sends nothing more. */
  withdraw(connection: Connection): void {
    connection.give(() => undefined, this, true);
  }

  remove(node: ProvenNode): void {
    this.#ids.delete(node);
    this.#sent.delete(node);
  }

  /** How long the answer to the newest heartbeat took, as the other thread has measured it. Its next call is about the next heartbeat. */
  takeTookMs(): number | undefined {
    const tookMs = this.#tookMs;
    this.#tookMs = undefined;
    return tookMs;
  }

  answered(tookMs: number): void {
    this.#tookMs = Math.max(tookMs, this.#tookMs ?? 0);
  }

  repeated({ zxid, versions }: RepeatAnswer): void {
    const shown = new Map(versions.map(({ id, version }) => [id, version]));
    for (const [node, id] of this.#ids) {
      const version = shown.get(id);
      if (version !== undefined) node.raised?.shown(version, zxid);
    }
    this.#listener.onRepeated();
    this.#noteStall();
  }

  /** All answers of one stall are read together, when it is over. */
  #noteStall(): void {
    const now = this.#clock.now();
    const isNew = now - this.#repeatedAt > this.#leastGapMs;
    this.#repeatedAt = now;
    if (!isNew) return;
    const stalledMs = Math.max(0, this.#overdueMs());
    this.#listener.onStall(stalledMs);
    const isRecent = now - this.#logged.at < LOGGED_EVERY_MS;
    if (isRecent && stalledMs < MUCH_LONGER * this.#logged.stalledMs) return;
    this.#logged = { at: now, stalledMs };
    const ms = Math.round(stalledMs);
    const { maxStallMs } = this.#listener;
    // At least: the stall began behind the newest heartbeat of this thread, and the next one was late by that.
    if (stalledMs < maxStallMs)
      this.#logger.warn(
        { stalledMs: ms },
        `the main thread stood still for at least ${ms} ms: a thread sent its heartbeats`,
      );
    else
      this.#logger.warn(
        { stalledMs: ms, maxStallMs },
        `the main thread stood still for at least ${ms} ms, longer than maxStallMs: a thread sent its heartbeats for that long`,
      );
  }

  #idOf(node: ProvenNode): number {
    const known = this.#ids.get(node);
    if (known !== undefined) return known;
    this.#ids.set(node, ++this.#lastId);
    return this.#lastId;
  }
}

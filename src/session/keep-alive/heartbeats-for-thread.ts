import type { Logger } from '../../platform/logging/logger.js';
import type { Clock } from '../../platform/time/clock.js';
import { type HeartbeatTimes, heartbeatMs } from '../../platform/time/heartbeat-intervals.js';
import type { Connection } from '../connection/connection.js';
import type { Repeats } from '../connection/tcp-and-tls.js';
import type { Given, GivenHeartbeat, RepeatAnswer } from '../connection-thread/heartbeat-repeater.js';
import { type HeartbeatBatch, heldNode, type ProvenNode } from './heartbeat-batch.js';

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
export class HeartbeatsForThread implements Repeats {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listener: StallListener;
  readonly #overdueMs: () => number;
  #lastId = 0;
  readonly #ids = new Map<ProvenNode, number>();
  /** The nodes of which the thread is told with the next message, and those that it then forgets. */
  #changed = new Set<ProvenNode>();
  #released: number[] = [];
  /** The heartbeats of this thread, if the other one doesn't know them. */
  #beats: readonly GivenHeartbeat[] | undefined;
  #connection: { readonly to: Connection; readonly times: HeartbeatTimes } | undefined;
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

  /** From now on the thread of this connection is told what is held, by a message that costs what has changed. */
  begin(connection: Connection, times: HeartbeatTimes, nodes: readonly ProvenNode[]): void {
    this.#connection = { to: connection, times };
    this.#leastGapMs = heartbeatMs(times.leaseMs);
    this.#changed = new Set(nodes.filter(isHeld));
    this.#released = [];
    this.#beats = undefined;
    this.#give(false);
  }

  /** The thread sends nothing more. */
  withdraw(): void {
    this.#connection?.to.give(() => undefined, this, true);
    this.#connection = undefined;
  }

  /** Something is held by the node from now on, in other memory too, or nothing any more. */
  changed(node: ProvenNode, isUrgent: boolean): void {
    this.#changed.add(node);
    this.#give(isUrgent);
  }

  /** The node isn't proven any more. */
  remove(node: ProvenNode): void {
    this.#changed.delete(node);
    const id = this.#ids.get(node);
    if (id === undefined) return;
    this.#ids.delete(node);
    this.#released.push(id);
    this.#give(false);
  }

  /** This thread is about to send other heartbeats than before. */
  sending(batches: readonly HeartbeatBatch[]): void {
    this.#beats = batches.map((batch) => batch.given((node) => this.#idOf(node)));
    this.#give(false);
  }

  #give(isUrgent: boolean): void {
    this.#connection?.to.give(() => this.#take(), this, isUrgent);
  }

  /** What the thread doesn't know yet. */
  #take(): Given | undefined {
    if (this.#connection === undefined) return undefined;
    const changed = [...this.#changed];
    const released = changed.filter((node) => !isHeld(node)).map((node) => this.#idOf(node));
    const given = {
      ...this.#connection.times,
      released: [...this.#released, ...released],
      held: changed.filter(isHeld).map((node) => heldNode(node, this.#idOf(node))),
      heartbeats: this.#beats,
    };
    this.#changed.clear();
    this.#released = [];
    this.#beats = undefined;
    return given;
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

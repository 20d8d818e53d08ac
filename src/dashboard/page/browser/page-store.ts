import { ClockOffset } from '../../../platform/time/clock-offset.js';
import type { DashboardChange, DashboardState } from '../../api-types.js';
import { applyChange, type Model, modelOf } from '../model/apply-change.js';
import type { StreamListener } from './event-stream.js';

/** The page's connection to its server. */
export type Link =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** `since`: the time by the dashboard's clock when the page lost the connection. */
  | { readonly kind: 'lost'; readonly since: number };

/** Holds the page's model, and notifies listeners of its changes. */
export class PageStore implements StreamListener {
  #model: Model | undefined;
  #link: Link = { kind: 'connecting' };
  /** The clock of the dashboard's process, which all times refer to. */
  readonly #clock = new ClockOffset(32);
  readonly #listeners = new Set<() => void>();
  readonly #ofHeartbeats = new Map<string, Set<() => void>>();
  /** The page's own monotonic clock, in milliseconds. */
  readonly #pageNow: () => number;

  constructor(pageNow: () => number) {
    this.#pageNow = pageNow;
  }

  get model(): Model | undefined {
    return this.#model;
  }

  get link(): Link {
    return this.#link;
  }

  /** Whether the model is current: the page is connected to its server, and the server to ZooKeeper. */
  get isLive(): boolean {
    return this.#link.kind === 'live' && this.#model?.state.connected === true;
  }

  /** The time by the dashboard's clock. It stops while the model isn't current. */
  now(): number {
    if (this.#link.kind === 'lost') return this.#link.since;
    const state = this.#model?.state;
    if (state?.connected === false && state.disconnectedSince !== null) return state.disconnectedSince;
    return this.#pageNow() + this.#clock.aheadMs;
  }

  state(state: DashboardState): void {
    this.#clock.sample(state.now, this.#pageNow());
    this.#model = modelOf(state, this.#model);
    this.#link = { kind: 'live' };
    this.#notify();
    this.#notifyHeartbeats(this.#ofHeartbeats.keys());
  }

  change(change: DashboardChange): void {
    if (this.#model === undefined) return;
    this.#clock.sample(change.now, this.#pageNow());
    const former = this.#model;
    this.#model = applyChange(former, change);
    if (hasViews(change)) this.#notify();
    const paths = (change.heartbeats ?? []).map(({ path }) => path);
    // While the dashboard has no server, the leases on the page stay the same.
    this.#notifyHeartbeats(change.connected === undefined ? paths : this.#ofHeartbeats.keys());
  }

  lost(): void {
    if (this.#link.kind === 'lost') return;
    this.#link = { kind: 'lost', since: this.now() };
    this.#notify();
    this.#notifyHeartbeats(this.#ofHeartbeats.keys());
  }

  /** Calls `listener` at each change of the model except heartbeats. Returns a function that ends this. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `listener` at each heartbeat of a leader, and when {@link isLive} changes. Returns a function that ends this. */
  subscribeHeartbeats(path: string, listener: () => void): () => void {
    const listeners = this.#ofHeartbeats.get(path) ?? new Set();
    this.#ofHeartbeats.set(path, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#ofHeartbeats.delete(path);
    };
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #notifyHeartbeats(paths: Iterable<string>): void {
    for (const path of paths) for (const listener of this.#ofHeartbeats.get(path) ?? []) listener();
  }
}

function hasViews(change: DashboardChange): boolean {
  return Object.keys(change).some((key) => key !== 'now' && key !== 'heartbeats');
}

const TICK_MS = 1_000;

/** Updates all times on the page once a second, while the page is visible. */
export class Ticker {
  readonly #ticked = new Set<() => void>();

  start(): void {
    setInterval(() => {
      if (!document.hidden) this.tick();
    }, TICK_MS);
    document.addEventListener('visibilitychange', () => this.tick());
  }

  tick(): void {
    for (const each of this.#ticked) each();
  }

  /** Calls `each` at each tick. Returns a function that ends this. */
  add(each: () => void): () => void {
    this.#ticked.add(each);
    return () => this.#ticked.delete(each);
  }
}

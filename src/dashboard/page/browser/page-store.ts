import type { DashboardChange, DashboardState } from '../../api.js';
import { applyChange, heartbeatKey, type Model, modelOf } from '../model/apply-change.js';
import { ClockEstimate } from '../model/clock-estimate.js';
import type { StreamListener } from './event-stream.js';

/** Whether the page hears of its server. */
export type Link =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** With what the dashboard's clock showed when the last event came. */
  | { readonly kind: 'lost'; readonly since: number };

/** What the page knows, and who is told when that changes. */
export class PageStore implements StreamListener {
  #model: Model | undefined;
  #link: Link = { kind: 'connecting' };
  readonly #clock = new ClockEstimate();
  readonly #listeners = new Set<() => void>();
  readonly #ofHeartbeats = new Map<string, Set<() => void>>();
  /** The page's own clock, in milliseconds; it doesn't jump. */
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

  /** Whether what is shown is from now: the page has its server, and that one has ZooKeeper. */
  get isLive(): boolean {
    return this.#link.kind === 'live' && this.#model?.state.connected === true;
  }

  /** The time by the dashboard's clock. It stands still while what is shown is old. */
  now(): number {
    if (this.#link.kind === 'lost') return this.#link.since;
    const state = this.#model?.state;
    if (state?.connected === false && state.disconnectedSince !== null) return state.disconnectedSince;
    return this.#clock.dashboardAt(this.#pageNow());
  }

  state(state: DashboardState): void {
    this.#clock.observe(state.now, this.#pageNow());
    this.#model = modelOf(state, this.#model);
    this.#link = { kind: 'live' };
    this.#notify();
    this.#notifyHeartbeats(this.#ofHeartbeats.keys());
  }

  change(change: DashboardChange): void {
    if (this.#model === undefined) return;
    this.#clock.observe(change.now, this.#pageNow());
    const former = this.#model;
    this.#model = applyChange(former, change);
    if (hasViews(change)) this.#notify();
    const keys = (change.heartbeats ?? []).map(({ path, seat }) => heartbeatKey(path, seat));
    // Leases stand still on the page while the dashboard has no server.
    this.#notifyHeartbeats(change.connected === undefined ? keys : this.#ofHeartbeats.keys());
  }

  lost(): void {
    if (this.#link.kind === 'lost') return;
    this.#link = { kind: 'lost', since: this.now() };
    this.#notify();
    this.#notifyHeartbeats(this.#ofHeartbeats.keys());
  }

  /** Calls at each change of what is shown, heartbeats aside. Returns what ends that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls at each heartbeat of a leader, and when what is shown becomes old or is from now again. Returns what ends that. */
  subscribeHeartbeats(key: string, listener: () => void): () => void {
    const listeners = this.#ofHeartbeats.get(key) ?? new Set();
    this.#ofHeartbeats.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#ofHeartbeats.delete(key);
    };
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #notifyHeartbeats(keys: Iterable<string>): void {
    for (const key of keys) for (const listener of this.#ofHeartbeats.get(key) ?? []) listener();
  }
}

function hasViews(change: DashboardChange): boolean {
  return Object.keys(change).some((key) => key !== 'now' && key !== 'heartbeats');
}

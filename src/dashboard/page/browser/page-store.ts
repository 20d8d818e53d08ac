import { ClockOffset } from '../../../platform/time/clock-offset.js';
import type { DashboardChange, DashboardState } from '../../api-types.js';
import { applyChange, type Model, modelOf } from '../model/apply-change.js';
import type { StreamListener } from './event-stream.js';
import { Listeners } from './listeners.js';

/** The page's connection to its server. */
export type Link =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** `since`: the time by the dashboard's clock when the page lost the connection. */
  | { readonly kind: 'lost'; readonly since: number };

/** Holds the page's model, and notifies listeners of its changes. */
export class PageStore implements StreamListener {
  /** Changes of the model, except heartbeats, and of {@link isLive}. */
  readonly changes = new Listeners();
  /** All changes, also of heartbeats alone. */
  readonly heartbeats = new Listeners();
  #model: Model | undefined;
  #link: Link = { kind: 'connecting' };
  /** The clock of the dashboard's process, which all times refer to. */
  readonly #clock = new ClockOffset(32);

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
    return performance.now() + this.#clock.aheadMs;
  }

  /** The numbers of the colors of a group's members, by the members' ids. */
  slotsOf(group: string): ReadonlyMap<string, number> {
    return this.#model?.slots.get(group) ?? new Map();
  }

  state(state: DashboardState): void {
    this.#clock.sample(state.now, performance.now());
    this.#model = modelOf(state, this.#model);
    this.#link = { kind: 'live' };
    this.#notify();
  }

  change(change: DashboardChange): void {
    if (this.#model === undefined) return;
    this.#clock.sample(change.now, performance.now());
    this.#model = applyChange(this.#model, change);
    if (hasViews(change)) this.#notify();
    else this.heartbeats.notify();
  }

  lost(): void {
    if (this.#link.kind === 'lost') return;
    this.#link = { kind: 'lost', since: this.now() };
    this.#notify();
  }

  #notify(): void {
    this.changes.notify();
    this.heartbeats.notify();
  }
}

function hasViews(change: DashboardChange): boolean {
  return Object.keys(change).some((key) => key !== 'now' && key !== 'heartbeats');
}

// What the dashboard's server sends to its page, as JSON: `GET api/state`, and as server-sent events on `GET api/events`.
// All times are in milliseconds since 1970 by the clock of the dashboard's process.
import type { OverviewChange, OverviewState } from '../overview/model/view-types.js';

export type * from '../overview/model/view-types.js';

// The event `alive` comes at least every 15 s: a page that hears nothing for longer has lost its connection, whatever its browser says.

/** Everything that the page shows. `GET api/state`, and the event `state`, which begins each stream of events. */
export interface DashboardState extends OverviewState {
  /** The time of day, in milliseconds since 1970. */
  readonly now: number;
  /** The path below which everything is shown. */
  readonly root: string;
  /** Whether this visitor may act (POST). */
  readonly mayAct: boolean;
}

/** The event `change`: the views that have changed. Each view replaces the one with its path. */
export interface DashboardChange extends OverviewChange {
  /** The time of day, in milliseconds since 1970. */
  readonly now: number;
}

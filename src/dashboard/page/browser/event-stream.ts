import type { DashboardChange, DashboardState } from '../../api-types.js';

export interface StreamListener {
  state(state: DashboardState): void;
  change(change: DashboardChange): void;
  /** The stream has ended. It opens again after a pause. */
  lost(): void;
}

/** The server sends an event at least every 15 s. If the network drops a connection silently, it looks open, but no event comes. */
const SILENCE_MS = 40_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * The events of the dashboard's server, over one connection after another. An EventSource reconnects by itself only after a
 * broken connection. An answer of 502, which a proxy gives while the server restarts, ends it for good. So after each failure
 * this class makes a new EventSource, after a pause that grows. The first event of a connection replaces the whole state. The
 * first connection begins at once.
 */
export class EventStream {
  readonly #url: string;
  readonly #listener: StreamListener;
  /** `undefined` during a pause. A source that was closed dispatches no further events. */
  #source: EventSource | undefined;
  /** Ends the pause, or a silence of the source that is too long. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failedAttempts = 0;

  constructor(url: string, listener: StreamListener) {
    this.#url = url;
    this.#listener = listener;
    this.#open();
  }

  /** Ends a pause, which may be long. Call it when the network is back, or when the page becomes visible. */
  hurry(): void {
    if (this.#source === undefined) this.#open();
  }

  #open(): void {
    const source = new EventSource(this.#url);
    this.#source = source;
    const listen = (name: string, use: (value: never) => void) =>
      source.addEventListener(name, (event) => {
        this.#failedAttempts = 0;
        this.#awaitMore();
        use(JSON.parse(String((event as MessageEvent).data)) as never);
      });
    listen('state', (value: DashboardState) => this.#listener.state(value));
    listen('change', (value: DashboardChange) => this.#listener.change(value));
    listen('alive', () => undefined);
    source.addEventListener('error', () => this.#fail());
    this.#awaitMore();
  }

  #awaitMore(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#fail(), SILENCE_MS);
  }

  #fail(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = undefined;
    const most = Math.min(FIRST_PAUSE_MS * 2 ** this.#failedAttempts, LONGEST_PAUSE_MS);
    this.#failedAttempts += 1;
    this.#timer = setTimeout(() => this.#open(), most * (0.5 + Math.random() / 2));
    this.#listener.lost();
  }
}

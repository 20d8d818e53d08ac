import type { DashboardChange, DashboardState } from '../../api-types.js';

/** The part of an EventSource that a stream uses. */
export interface Source {
  addEventListener(name: string, listener: (event: { readonly data?: unknown }) => void): void;
  close(): void;
}

/** The parts of the browser that a stream uses. */
export interface StreamEnvironment {
  open(url: string): Source;
  /** Calls `run` after `ms`. Returns a function that cancels the call. */
  later(run: () => void, ms: number): () => void;
  random(): number;
}

export interface StreamListener {
  state(state: DashboardState): void;
  change(change: DashboardChange): void;
  /** The stream has ended. It opens again after a pause. */
  lost(): void;
}

type StreamState =
  | { readonly kind: 'open'; readonly source: Source; endSilence: () => void }
  | { readonly kind: 'pausing'; readonly cancel: () => void }
  | { readonly kind: 'closed' };

/** The server sends an event at least every 15 s. If the network drops a connection silently, it looks open, but no event comes. */
const SILENCE_MS = 40_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * The events of the dashboard's server, over one connection after another. An EventSource reconnects by itself only after a
 * broken connection. An answer of 502, which a proxy gives while the server restarts, ends it for good. So after each failure
 * this class makes a new EventSource, after a pause that grows. The first event of a connection replaces the whole state.
 */
export class EventStream {
  readonly #url: string;
  readonly #listener: StreamListener;
  readonly #environment: StreamEnvironment;
  #state: StreamState = { kind: 'closed' };
  #failedAttempts = 0;

  constructor(url: string, listener: StreamListener, environment: StreamEnvironment) {
    this.#url = url;
    this.#listener = listener;
    this.#environment = environment;
  }

  /** Opens the stream at once. This also ends a pause. */
  open(): void {
    this.close();
    const source = this.#environment.open(this.#url);
    const state: StreamState = { kind: 'open', source, endSilence: () => undefined };
    this.#state = state;
    const listen = (name: string, use: (value: never) => void) =>
      source.addEventListener(name, ({ data }) => {
        if (this.#state !== state) return;
        this.#failedAttempts = 0;
        this.#awaitMore(state);
        use(JSON.parse(String(data)) as never);
      });
    listen('state', (value: DashboardState) => this.#listener.state(value));
    listen('change', (value: DashboardChange) => this.#listener.change(value));
    listen('alive', () => undefined);
    source.addEventListener('error', () => this.#fail(state));
    this.#awaitMore(state);
  }

  close(): void {
    const state = this.#state;
    this.#state = { kind: 'closed' };
    if (state.kind === 'pausing') state.cancel();
    if (state.kind !== 'open') return;
    state.endSilence();
    state.source.close();
  }

  /** Ends a pause, which may be long. Call it when the network is back, or when the page becomes visible. */
  hurry(): void {
    if (this.#state.kind === 'pausing') this.open();
  }

  #awaitMore(state: Extract<StreamState, { kind: 'open' }>): void {
    state.endSilence();
    state.endSilence = this.#environment.later(() => this.#fail(state), SILENCE_MS);
  }

  #fail(state: StreamState): void {
    if (this.#state !== state) return;
    this.close();
    const most = Math.min(FIRST_PAUSE_MS * 2 ** this.#failedAttempts, LONGEST_PAUSE_MS);
    this.#failedAttempts += 1;
    const pause = most * (0.5 + this.#environment.random() / 2);
    this.#state = { kind: 'pausing', cancel: this.#environment.later(() => this.open(), pause) };
    this.#listener.lost();
  }
}

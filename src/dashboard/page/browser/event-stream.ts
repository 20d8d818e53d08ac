import type { DashboardChange, DashboardState } from '../../api.js';

/** What a stream uses of an EventSource. */
export interface Source {
  addEventListener(name: string, listener: (event: { readonly data?: unknown }) => void): void;
  close(): void;
}

/** What a stream uses of the browser. */
export interface StreamEnvironment {
  open(url: string): Source;
  /** Calls later; returns what cancels that. */
  later(run: () => void, ms: number): () => void;
  random(): number;
}

export interface StreamListener {
  state(state: DashboardState): void;
  change(change: DashboardChange): void;
  /** The stream has ended. It is opened again after a pause. */
  lost(): void;
}

type StreamState =
  | { readonly kind: 'open'; readonly source: Source; endSilence: () => void }
  | { readonly kind: 'pausing'; readonly cancel: () => void }
  | { readonly kind: 'closed' };

/** The server sends an event at least every 15 s. A connection that was cut on its way says nothing, and stays open. */
const SILENCE_MS = 40_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * The events of the dashboard's server, over one connection after another. EventSource reconnects by itself only where the
 * connection broke: an answer of 502, as a proxy gives while the server restarts, ends it for good. So each failure
 * takes the same way here: a new EventSource, after a pause that grows. Its first event replaces all that was known.
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

  /** Opens the stream; at once, if it is pausing. */
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

  /** For when the browser says that there is a network again, or a reader looks: a pause may have become long. */
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

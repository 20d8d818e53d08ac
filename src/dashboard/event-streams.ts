import { ignore } from '../platform/async/promises.js';
import type { Clock, Timer } from '../platform/time/clock.js';

const KEEP_ALIVE_MS = 15_000;
/** An event and not a comment: the page doesn't hear of comments, and if it hears nothing it takes its connection to be lost. */
const KEEP_ALIVE = textOf('alive', {});
const RETRY = 'retry: 2000\n\n';
/** The server cuts off a visitor that is so far behind. Its browser connects again, and begins with the whole state. */
const MOST_BEHIND_BYTES = 8 * 1024 * 1024;

interface Stream {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  end(): void;
}

/** The streams of server-sent events that are open. Each ends by `close()`, by its request's signal, or when it is cancelled. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #onWatched: () => () => void;
  readonly #streams = new Set<Stream>();
  #unwatch: () => void = ignore;
  #keepAlive: Timer | undefined;

  /** @param onWatched - called with the first of several streams; what it returns is called when the last one has ended */
  constructor(clock: Clock, onWatched: () => () => void) {
    this.#clock = clock;
    this.#onWatched = onWatched;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** @param first - the first event's value, made when the stream is read: nothing comes between it and the next event */
  open(event: string, first: () => unknown, signal: AbortSignal): ReadableStream<Uint8Array> {
    let stream: Stream | undefined;
    const onAbort = () => stream?.end();
    const strategy = { highWaterMark: 0, size: (chunk: Uint8Array) => chunk.byteLength };
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          stream = {
            controller,
            end: () => {
              signal.removeEventListener('abort', onAbort);
              this.#remove(stream as Stream);
            },
          };
          if (signal.aborted) return controller.close();
          signal.addEventListener('abort', onAbort);
          this.#add(stream);
          controller.enqueue(encode(RETRY + textOf(event, first())));
        },
        cancel: onAbort,
      },
      strategy as QueuingStrategy<Uint8Array>,
    );
  }

  /** Encoded once for all. */
  send(event: string, value: unknown): void {
    if (this.#streams.size > 0) this.#write(encode(textOf(event, value)));
  }

  close(): void {
    for (const stream of [...this.#streams]) stream.end();
  }

  #add(stream: Stream): void {
    this.#streams.add(stream);
    if (this.#streams.size > 1) return;
    this.#unwatch = this.#onWatched();
    this.#keepAliveLater();
  }

  #remove(stream: Stream): void {
    if (!this.#streams.delete(stream)) return;
    try {
      stream.controller.close();
    } catch {
      // It was cancelled.
    }
    if (this.#streams.size > 0) return;
    this.#keepAlive?.clear();
    this.#unwatch();
    this.#unwatch = ignore;
  }

  #keepAliveLater(): void {
    this.#keepAlive = this.#clock.after(KEEP_ALIVE_MS, () => {
      this.#write(encode(KEEP_ALIVE));
      if (this.#streams.size > 0) this.#keepAliveLater();
    });
  }

  #write(bytes: Uint8Array): void {
    for (const stream of [...this.#streams]) {
      const { controller } = stream;
      if ((controller.desiredSize ?? 0) < -MOST_BEHIND_BYTES) stream.end();
      else controller.enqueue(bytes);
    }
  }
}

const encoder = new TextEncoder();

function encode(text: string): Uint8Array {
  return encoder.encode(text);
}

/** JSON has no line breaks, whatever other clients have written. */
function textOf(event: string, value: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(value)}\n\n`;
}

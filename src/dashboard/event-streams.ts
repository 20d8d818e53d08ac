import { ignore } from '../platform/async/promises.js';
import type { Clock, Timer } from '../platform/time/clock.js';

const KEEP_ALIVE_MS = 15_000;
/** An event and not a comment: the page doesn't hear of comments, and if it hears nothing it takes its connection to be lost. */
const KEEP_ALIVE = textOf('alive', {});
const RETRY = 'retry: 2000\n\n';
/** More visitors than operators have, and few enough that those that read nothing can't use up the memory of the process. */
export const MOST_STREAMS = 100;
/**
 * How much may wait for the visitors, all together. Beyond that the one that is furthest behind is cut off: it reads too slowly, or not at
 * all. Its browser connects again, and begins with the whole state.
 */
const MOST_WAITING_BYTES = 16 * 1024 * 1024;

interface Stream {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  end(): void;
}

/**
 * The streams of server-sent events that are open. Each ends by `close()`, by its request's signal, or when it is cancelled, and with an
 * error when it is cut off.
 */
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

  /** Whether there are as many as there may be. */
  get areFull(): boolean {
    return this.#streams.size >= MOST_STREAMS;
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
      // It was cancelled, or cut off.
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
    for (const { controller } of this.#streams) controller.enqueue(bytes);
    this.#cutOff();
  }

  #cutOff(): void {
    const behind = [...this.#streams].map((stream) => ({ stream, bytes: waitingBytes(stream) }));
    let sum = behind.reduce((bytes, each) => bytes + each.bytes, 0);
    for (const { stream, bytes } of behind.sort((one, other) => other.bytes - one.bytes)) {
      if (sum <= MOST_WAITING_BYTES) return;
      sum -= bytes;
      // An error drops what waits. An end would keep it until the visitor has read it.
      stream.controller.error(new Error('the visitor was cut off: it reads too slowly'));
      stream.end();
    }
  }
}

function waitingBytes({ controller }: Stream): number {
  return -(controller.desiredSize ?? 0);
}

const encoder = new TextEncoder();

function encode(text: string): Uint8Array {
  return encoder.encode(text);
}

/** JSON has no line breaks, whatever other clients have written. */
function textOf(event: string, value: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(value)}\n\n`;
}

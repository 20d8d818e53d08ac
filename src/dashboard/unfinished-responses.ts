import { ignore } from '../platform/async/promises.js';
import type { Clock, Timer } from '../platform/time/clock.js';
import { bytesOf } from './snapshot-cache.js';

const KEEP_ALIVE_MS = 15_000;
/** An event and not a comment: the page doesn't hear of comments, and if it hears nothing it takes its connection to be lost. */
const KEEP_ALIVE = eventOf('alive', {});
const RETRY = Buffer.from('retry: 2000\n\n');
/** More visitors than operators have, and few enough that those that read nothing can't use up the memory of the process. */
export const MOST_STREAMS = 100;
/** Answers that are being sent at a time, beside the streams. */
export const MOST_ANSWERS = 100;
/**
 * How much may wait for the visitors, all together, beside the newest state. What waits for several counts once, since they share it. Beyond
 * that the visitor that is furthest behind is cut off: it reads too slowly, or not at all. Its browser connects again, and begins with the
 * whole state.
 */
const MOST_WAITING_BYTES = 16 * 1024 * 1024;
/** Who reads nothing for so long is cut off. */
const STALLED_MS = 30_000;
/** What a socket gets at a time: it is no longer counted here, and the socket keeps it until the visitor has read it. */
const SLICE_BYTES = 64 * 1024;

/** A body that a visitor reads. Ends by `end()`, and with an error by `cutOff()`. */
class OpenBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly isEndless: boolean;
  /** What the visitor hasn't read. The first one may be read in part. */
  readonly waiting: Uint8Array[];
  readAtMs: number;
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #position = 0; // In the first one.
  #isAsked = false;

  constructor(
    clock: Clock,
    chunks: readonly Uint8Array[],
    { isEndless, onEnd }: { isEndless: boolean; onEnd: () => void },
  ) {
    this.#clock = clock;
    this.waiting = [...chunks];
    this.isEndless = isEndless;
    this.readAtMs = clock.now();
    this.#onEnd = onEnd;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          this.#isAsked = true;
          this.readAtMs = clock.now();
          this.#give();
        },
        cancel: () => this.end(),
      },
      { highWaterMark: 0 },
    );
  }

  add(chunk: Uint8Array): void {
    if (this.waiting.length === 0) this.readAtMs = this.#clock.now(); // It had read everything.
    this.waiting.push(chunk);
    this.#give();
  }

  end(): void {
    this.#close();
    try {
      this.#controller?.close();
    } catch {
      // It was cancelled, or cut off.
    }
  }

  cutOff(): void {
    // An error drops what waits. An end would keep it until the visitor has read it.
    this.#controller?.error(new Error('the visitor was cut off: it reads too slowly'));
    this.#close();
  }

  #give(): void {
    const [first] = this.waiting;
    if (!this.#isAsked || first === undefined) return;
    this.#isAsked = false;
    const end = this.#position + SLICE_BYTES;
    const slice = first.subarray(this.#position, end);
    if (end >= first.byteLength) this.waiting.shift();
    this.#position = end >= first.byteLength ? 0 : end;
    this.#controller?.enqueue(slice);
    if (this.waiting.length === 0 && !this.isEndless) this.end();
  }

  #close(): void {
    this.waiting.length = 0;
    this.#onEnd();
  }
}

/**
 * The answers that visitors are reading, and the streams of server-sent events among them. Each ends by `close()`, by its request's signal,
 * or when it is cancelled, and with an error when it is cut off.
 */
export class UnfinishedResponses {
  readonly #clock: Clock;
  readonly #onWatched: () => () => void;
  readonly #isKept: (chunk: Uint8Array) => boolean;
  readonly #answers = new Set<OpenBody>();
  readonly #streams = new Set<OpenBody>();
  #unwatch: () => void = ignore;
  #timer: Timer | undefined;

  /**
   * @param onWatched - called with the first of several streams; what it returns is called when the last one has ended
   * @param isKept - whether bytes are kept anyway, so that they cost nothing here
   */
  constructor(
    clock: Clock,
    onWatched: () => () => void,
    isKept: (chunk: Uint8Array) => boolean = () => false,
  ) {
    this.#clock = clock;
    this.#onWatched = onWatched;
    this.#isKept = isKept;
  }

  /** Whether there are as many answers, beside the streams, as there may be. */
  get areFull(): boolean {
    return this.#answers.size >= MOST_ANSWERS;
  }

  get streamsAreFull(): boolean {
    return this.#streams.size >= MOST_STREAMS;
  }

  get isFollowed(): boolean {
    return this.#streams.size > 0;
  }

  /** A body of these bytes, which it shares with others. */
  answer(chunks: readonly Uint8Array[], signal: AbortSignal): ReadableStream<Uint8Array> {
    return this.#open(this.#answers, chunks, signal);
  }

  /** A stream of events that begins with these bytes. All events that are sent from now on follow. */
  follow(chunks: readonly Uint8Array[], signal: AbortSignal): ReadableStream<Uint8Array> {
    const isFirst = !this.isFollowed;
    const stream = this.#open(this.#streams, [RETRY, ...chunks], signal);
    if (isFirst && this.isFollowed) this.#unwatch = this.#onWatched();
    return stream;
  }

  /** To all streams. */
  send(event: Uint8Array): void {
    for (const stream of [...this.#streams]) stream.add(event);
    this.#cutOffSlow();
  }

  close(): void {
    for (const body of this.#all()) body.end();
  }

  #all(): OpenBody[] {
    return [...this.#answers, ...this.#streams];
  }

  #open(set: Set<OpenBody>, chunks: readonly Uint8Array[], signal: AbortSignal): ReadableStream<Uint8Array> {
    const isEndless = set === this.#streams;
    const leave = () => body.end();
    const onEnd = () => {
      signal.removeEventListener('abort', leave);
      this.#remove(set, body);
    };
    const body: OpenBody = new OpenBody(this.#clock, chunks, { isEndless, onEnd });
    set.add(body);
    this.#timer ??= this.#tickLater();
    signal.addEventListener('abort', leave);
    if (signal.aborted) body.end();
    this.#cutOffSlow();
    return body.stream;
  }

  #remove(set: Set<OpenBody>, body: OpenBody): void {
    if (!set.delete(body)) return;
    if (set === this.#streams && set.size === 0) {
      this.#unwatch();
      this.#unwatch = ignore;
    }
    if (this.#all().length > 0) return;
    this.#timer?.clear();
    this.#timer = undefined;
  }

  #tickLater(): Timer {
    return this.#clock.after(KEEP_ALIVE_MS, () => {
      this.#timer = undefined;
      const now = this.#clock.now();
      const stalled = this.#all().filter(
        ({ waiting, readAtMs }) => waiting.length > 0 && now - readAtMs >= STALLED_MS,
      );
      for (const body of stalled) body.cutOff();
      if (this.#all().length > 0) this.#timer ??= this.#tickLater();
      this.send(KEEP_ALIVE);
    });
  }

  #cutOffSlow(): void {
    const readers = new Map<Uint8Array, number>();
    for (const { waiting } of this.#all())
      for (const chunk of waiting) readers.set(chunk, (readers.get(chunk) ?? 0) + 1);
    for (const chunk of readers.keys()) if (this.#isKept(chunk)) readers.delete(chunk);
    let sum = bytesOf(readers.keys());
    if (sum <= MOST_WAITING_BYTES) return;
    const behind = this.#all().sort((one, other) => bytesOf(other.waiting) - bytesOf(one.waiting));
    for (const body of behind) {
      if (sum <= MOST_WAITING_BYTES) return;
      for (const chunk of body.waiting) {
        const others = (readers.get(chunk) ?? 0) - 1;
        readers.set(chunk, others);
        if (others === 0) sum -= chunk.byteLength;
      }
      body.cutOff();
    }
  }
}

/** JSON has no line breaks, whatever other clients have written. */
export function eventOf(event: string, value: unknown): Uint8Array {
  return Buffer.from(`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`);
}

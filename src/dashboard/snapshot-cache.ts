import type { OverviewState } from '../overview/model/view-types.js';
import type { Clock } from '../platform/time/clock.js';

/** A snapshot is made again when it is so many times as old as making it took: however many ask, at most a twentieth of the time goes there. */
const AGE_IN_COSTS = 20;

/** The parts of the state as JSON at one moment. All answers share these bytes. */
export interface CachedSnapshot {
  readonly parts: ReadonlyMap<string, Uint8Array>;
  /** The changes since then, as events. */
  readonly changes: readonly Uint8Array[];
}

/** The state as bytes, made once for all visitors. */
export class SnapshotCache {
  readonly #clock: Clock;
  readonly #read: () => OverviewState;
  #parts = new Map<string, Uint8Array>();
  #changes: Uint8Array[] = [];
  /** Until when the parts may be used; before all times: there are none. */
  #goodUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, read: () => OverviewState) {
    this.#clock = clock;
    this.#read = read;
  }

  /** The newest snapshot. A large one may be some seconds old; with its changes it is the present state. */
  get snapshot(): CachedSnapshot {
    if (!this.needsChanges) this.#make();
    return { parts: this.#parts, changes: this.#changes };
  }

  /** Whether a change has to be reported here, though no visitor follows the events. */
  get needsChanges(): boolean {
    return this.#clock.now() < this.#goodUntil;
  }

  /** Called for each change, before visitors get it. */
  changed(event: Uint8Array): void {
    this.#changes.push(event);
    // So many changes cost as much as a snapshot, and are longer to send.
    if (bytesOf(this.#changes) > bytesOf(this.#parts.values())) this.#goodUntil = Number.NEGATIVE_INFINITY;
    if (!this.needsChanges) this.#forget();
  }

  /** Whether these bytes are of the newest snapshot, which is kept anyway. */
  holds(bytes: Uint8Array): boolean {
    return [...this.#parts.values()].includes(bytes) || this.#changes.includes(bytes);
  }

  #make(): void {
    const beganAt = this.#clock.now();
    this.#forget();
    for (const [name, value] of Object.entries(this.#read()))
      this.#parts.set(name, Buffer.from(JSON.stringify(value)));
    const now = this.#clock.now();
    this.#goodUntil = now + AGE_IN_COSTS * (now - beganAt);
  }

  /** Answers may still have the former ones. */
  #forget(): void {
    this.#parts = new Map();
    this.#changes = [];
  }
}

/** A JSON object with these properties and then the parts, as bytes. @param rest - follows the object */
export function objectOf(
  first: object,
  parts: Iterable<readonly [name: string, json: Uint8Array]>,
  rest = '',
): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let text = JSON.stringify(first).slice(0, -1);
  for (const [name, json] of parts) {
    chunks.push(Buffer.from(`${text}${text === '{' ? '' : ','}${JSON.stringify(name)}:`), json);
    text = '';
  }
  return [...chunks, Buffer.from(`${text}}${rest}`)];
}

export function bytesOf(chunks: Iterable<Uint8Array>): number {
  let bytes = 0;
  for (const { byteLength } of chunks) bytes += byteLength;
  return bytes;
}

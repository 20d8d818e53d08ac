import { MAX_FRAME_BYTES, MAX_HANDSHAKE_REPLY_BYTES } from '../protocol/frame-layout.js';

/** What happens to a frame: it passes; it passes and is shown to the thread; or it is shown to the thread alone. */
export type Handling = 'pass' | 'pass-and-show' | 'keep';

/** What the filter asks, and what it says. All calls are made within {@link FrameFilter.push} or {@link FrameFilter.end}. */
export interface FilteredStream {
  /** What happens to the frame that begins with this xid. Asked once for each frame but the first, in their order. The first one passes. */
  handlingOf(xid: number): Handling;
  /** The next bytes for the main thread. */
  pass(bytes: Buffer): void;
  /**
   * A complete frame, without its length. What came before it has passed. A frame that is shown and passes is shown before its last byte
   * passes.
   */
  show(frame: Buffer): void;
  /** The peer doesn't send frames. Nothing is asked or shown any more: all bytes pass. */
  unreadable(): void;
}

/** `between`: a frame begins, and its first bytes, too few to decide, are held back. `unreadable`: all bytes pass. */
type State =
  | { readonly name: 'between'; readonly held: Buffer }
  | {
      readonly name: 'within';
      readonly handling: Handling;
      readonly leftBytes: number;
      /** The frame's bytes so far, unless it only passes. */
      readonly pieces: readonly Buffer[];
    }
  | { readonly name: 'unreadable' };

const [LENGTH_BYTES, XID_BYTES] = [4, 4];
const NOTHING = Buffer.alloc(0);
const BETWEEN: State = { name: 'between', held: NOTHING };

/**
 * Takes the replies to the thread's own frames out of the bytes that a server sends. All other bytes pass unchanged and in order, as soon
 * as they arrive, but for up to seven bytes at the beginning of a frame. The first frame, the answer to the handshake, has no xid, and
 * passes. A peer that sends no frames, or one that is too long, isn't a ZooKeeper server: all of its bytes pass from then on.
 */
export class FrameFilter {
  readonly #stream: FilteredStream;
  #state: State = BETWEEN;
  #isFirst = true;

  constructor(stream: FilteredStream) {
    this.#stream = stream;
  }

  /** @param chunk - bytes that arrived. The filter may keep the memory */
  push(chunk: Buffer): void {
    const held = this.#state.name === 'between' ? this.#state.held : NOTHING;
    const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    let [at, passed] = [0, 0];
    const pass = () => {
      if (at > passed) this.#stream.pass(bytes.subarray(passed, at));
      passed = at;
    };
    while (at < bytes.length) {
      if (this.#state.name !== 'within') {
        this.#state = this.#next(bytes, at);
        if (this.#state.name === 'unreadable') at = bytes.length;
        if (this.#state.name === 'within' && this.#state.handling !== 'keep') continue;
        pass(); // The bytes before a frame that is kept, or whose beginning is held back.
        if (this.#state.name !== 'within') return;
      }
      const { handling, leftBytes, pieces } = this.#state;
      const piece = bytes.subarray(at, at + leftBytes);
      at += piece.length;
      if (handling === 'keep') passed = at;
      const all = handling === 'pass' ? pieces : [...pieces, piece];
      if (piece.length < leftBytes) {
        this.#state = { name: 'within', handling, leftBytes: leftBytes - piece.length, pieces: all };
      } else {
        this.#state = BETWEEN;
        if (handling !== 'pass') this.#stream.show(Buffer.concat(all).subarray(LENGTH_BYTES));
      }
    }
    pass();
  }

  /** The peer has ended the stream. What was held back passes; half a frame that was to be kept doesn't. */
  end(): void {
    if (this.#state.name === 'between' && this.#state.held.length > 0) this.#stream.pass(this.#state.held);
    this.#state = BETWEEN;
  }

  /** The state at the beginning of a frame. */
  #next(bytes: Buffer, at: number): State {
    const there = bytes.length - at;
    const heldBack = (): State => ({ name: 'between', held: Buffer.from(bytes.subarray(at)) });
    if (this.#state.name === 'unreadable') return this.#state;
    if (there < LENGTH_BYTES) return heldBack();
    const length = bytes.readInt32BE(at);
    if (length < 0 || length > (this.#isFirst ? MAX_HANDSHAKE_REPLY_BYTES : MAX_FRAME_BYTES)) {
      this.#stream.unreadable();
      return { name: 'unreadable' };
    }
    const hasXid = !this.#isFirst && length >= XID_BYTES;
    if (hasXid && there < LENGTH_BYTES + XID_BYTES) return heldBack();
    this.#isFirst = false;
    const handling = hasXid ? this.#stream.handlingOf(bytes.readInt32BE(at + LENGTH_BYTES)) : 'pass';
    return { name: 'within', handling, leftBytes: LENGTH_BYTES + length, pieces: [] };
  }
}

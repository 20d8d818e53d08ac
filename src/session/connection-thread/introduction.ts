import {
  AUTH_XID,
  HANDSHAKE,
  HANDSHAKE_REPLY,
  LENGTH_BYTES,
  PASSWORD_BYTES,
  XID_OFFSET,
} from '../protocol/frame-layout.js';

/** The frames that a client sends to a server before the server serves the session. */
export interface Introduced {
  /** With the newest transaction of {@link Introduction.frames}. */
  readonly handshake: Buffer;
  readonly credentials: readonly Buffer[];
}

/**
 * The handshake and the credentials that the main thread has shown to a server, so that the thread can show them to another one, byte for
 * byte but for what the server has granted: the session's id and password.
 */
export class Introduction {
  #asked: Buffer | undefined;
  #granted: Buffer | undefined;
  readonly #credentials: Buffer[] = [];
  #isWritten = false;

  /** The main thread writes whole frames. It writes all credentials before its first request. */
  writing(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && !this.#isWritten; ) {
      const end = at + LENGTH_BYTES + bytes.readInt32BE(at);
      const frame = Buffer.from(bytes.subarray(at, end));
      if (this.#asked === undefined) this.#asked = frame;
      else if (frame.readInt32BE(XID_OFFSET) === AUTH_XID) this.#credentials.push(frame);
      else this.#isWritten = true;
      at = end;
    }
  }

  /** @param reply - the answer to the main thread's handshake, without its length */
  answered(reply: Buffer): void {
    if (this.#asked === undefined || !isGrantedBy(reply)) return;
    const handshake = Buffer.from(this.#asked);
    reply.copy(handshake, HANDSHAKE.id, HANDSHAKE_REPLY.id, HANDSHAKE_REPLY.password + PASSWORD_BYTES);
    this.#granted = handshake;
  }

  /** `undefined` unless a server has granted the session. @param lastZxid - the newest transaction that was seen */
  frames(lastZxid: bigint): Introduced | undefined {
    if (this.#granted === undefined) return undefined;
    const handshake = Buffer.from(this.#granted);
    if (lastZxid > handshake.readBigInt64BE(HANDSHAKE.zxid))
      handshake.writeBigInt64BE(lastZxid, HANDSHAKE.zxid);
    return { handshake, credentials: this.#credentials };
  }
}

/** Whether a server serves a session from now on. Otherwise the session has expired. @param reply - without its length */
export function isGrantedBy(reply: Buffer): boolean {
  return (
    reply.length >= HANDSHAKE_REPLY.password + PASSWORD_BYTES &&
    reply.readInt32BE(0) === 0 && // The version of the protocol. Another one means that the server takes no session now.
    reply.readInt32BE(HANDSHAKE_REPLY.timeout) > 0 &&
    reply.readInt32BE(HANDSHAKE_REPLY.password) === PASSWORD_BYTES - 4
  );
}

/** The frames that a client sends to a server before the server serves the session. */
export interface Introduced {
  /** With the newest transaction of {@link Introduction.frames}. */
  readonly handshake: Buffer;
  readonly credentials: readonly Buffer[];
}

const [LENGTH_BYTES, XID_OFFSET, AUTH_XID] = [4, 4, -4];
// The places in the handshake, and in the answer to it, which is without its length.
const ASKED = { zxid: 8, id: 20, password: 28 } as const;
const GRANTED = { timeout: 4, id: 8, password: 16 } as const;
const PASSWORD_BYTES = 4 + 16; // With its length.

/**
 * The handshake and the credentials that the main thread has shown to a server, so that the thread can show them to another one, byte for
 * byte but for what the server has granted: the session's id and password.
 */
export class Introduction {
  #handshake: Buffer | undefined;
  readonly #credentials: Buffer[] = [];
  #state: 'asked' | 'granted' | 'refused' = 'asked';
  #isWritten = false;

  /** The main thread writes whole frames. It writes all credentials before its first request. */
  writing(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && !this.#isWritten; ) {
      const end = at + LENGTH_BYTES + bytes.readInt32BE(at);
      const frame = Buffer.from(bytes.subarray(at, end));
      if (this.#handshake === undefined) this.#handshake = frame;
      else if (frame.readInt32BE(XID_OFFSET) === AUTH_XID) this.#credentials.push(frame);
      else this.#isWritten = true;
      at = end;
    }
  }

  /** @param reply - the answer to the main thread's handshake, without its length */
  answered(reply: Buffer): void {
    const handshake = this.#handshake;
    const isGranted =
      handshake !== undefined &&
      handshake.length >= ASKED.password + PASSWORD_BYTES &&
      isGrantedBy(reply) &&
      reply.readInt32BE(GRANTED.password) === PASSWORD_BYTES - 4 &&
      reply.length >= GRANTED.password + PASSWORD_BYTES;
    this.#state = isGranted ? 'granted' : 'refused';
    if (!isGranted) return;
    reply.copy(handshake, ASKED.id, GRANTED.id, GRANTED.password + PASSWORD_BYTES);
  }

  /** `undefined` unless a server has granted the session. @param lastZxid - the newest transaction that was seen */
  frames(lastZxid: bigint): Introduced | undefined {
    if (this.#state !== 'granted' || this.#handshake === undefined) return undefined;
    const handshake = Buffer.from(this.#handshake);
    if (lastZxid > handshake.readBigInt64BE(ASKED.zxid)) handshake.writeBigInt64BE(lastZxid, ASKED.zxid);
    return { handshake, credentials: this.#credentials };
  }
}

/** Whether a server serves a session from now on. Otherwise the session has expired. @param reply - without its length */
export function isGrantedBy(reply: Buffer): boolean {
  return reply.length >= GRANTED.password + 4 && reply.readInt32BE(GRANTED.timeout) > 0;
}

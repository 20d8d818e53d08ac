import { ConnectionLossError, RequestTooLargeError } from '../../errors.js';

/** A server says that the session no longer belongs to this connection: it has ended, or another connection has taken it. */
export class SessionGoneError extends Error {
  constructor(readonly moved: boolean) {
    super('the server says that the session no longer belongs to this connection');
  }
}

export const CLOSED = 'the server closed the connection';
export const CLOSED_AT_ONCE = `${CLOSED} right after accepting it: this host may already have as many connections as the server's maxClientCnxns allows, the server may have no quorum, it may refuse this client's certificate, or only one side uses TLS`;

/** Whether the server has ended the connection, in one of the ways in which Node reports that. */
export function isClosing(cause: unknown): boolean {
  const { code, message } = cause as NodeJS.ErrnoException;
  return message === CLOSED || code === 'ECONNRESET' || code === 'EPIPE';
}

/** A connection that doesn't serve a session yet, or no longer, has ended for want of an answer. */
export class NoAnswerInTimeError extends Error {}

/** The handshake was sent and not answered. The server may have accepted the session all the same. */
export class HandshakeLostError extends Error {}

/** No servers that take less than this are of any use, in bytes. */
const LEAST_MAXBUFFER = 1024;
/** After so many lost connections the request is given up: each one puts all that the session holds at risk. */
const MOST_LOSSES = 5;

/** The connections that one request has cost, which its sender repeats until it is answered. */
export class LostRequest {
  #losses = 0;

  /**
   * To be called when the request wasn't answered.
   * @throws RequestTooLargeError if the server has ended the connection at each of five tries of a request over 1 kB
   */
  countLoss(error: unknown): void {
    const bytes = error instanceof ConnectionLossError ? (error.requestBytes ?? 0) : 0;
    if (bytes > LEAST_MAXBUFFER && ++this.#losses === MOST_LOSSES)
      throw new RequestTooLargeError(bytes, this.#losses, error);
  }
}

/** A server says that the session no longer belongs to this connection: it has ended, or another connection has taken it. */
export class SessionGoneError extends Error {
  constructor(readonly moved: boolean) {
    super('the server says that the session no longer belongs to this connection');
  }
}

export const CLOSED = 'the server closed the connection';
export const CLOSED_AT_ONCE = `${CLOSED} right after accepting it: this host may already have as many connections as the server's maxClientCnxns allows, the server may have no quorum, or only one side uses TLS`;

/** Whether the server has ended the connection, in one of the ways in which Node reports that. */
export function isClosing(cause: unknown): boolean {
  const { code, message } = cause as NodeJS.ErrnoException;
  return message === CLOSED || code === 'ECONNRESET' || code === 'EPIPE';
}

/** The handshake was sent and not answered. The server may have accepted the session all the same. */
export class HandshakeLostError extends Error {}

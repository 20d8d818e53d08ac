import { ConnectionLossError, RequestTooLargeError } from '../../errors.js';

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

import { AuthenticationError } from '../errors.js';

/**
 * The end of GSSAPI's exchange (RFC 4752): the server offers security layers, and the client chooses one. Each is a bit of the first byte.
 * The other three bytes are the longest message of such a layer.
 */

const LENGTH = 4;
const NO_LAYER = 0x01;
/** No security layer, so no longest message, and no authorization id: the server takes that of the ticket. */
const CHOICE = Buffer.from([NO_LAYER, 0, 0, 0]);

/** @throws AuthenticationError if the server doesn't offer to go on without a security layer. Any bytes have one of the two outcomes */
export function answerToOffer(offer: Uint8Array): Buffer {
  if (offer.length !== LENGTH)
    throw new AuthenticationError(
      `a server offers security layers of SASL in ${offer.length} bytes: expected ${LENGTH}`,
    );
  if (((offer[0] as number) & NO_LAYER) === 0)
    throw new AuthenticationError(
      'a server demands a security layer of SASL (qop auth-int or auth-conf), which Conclave has not: allow the qop auth there, and use TLS',
    );
  return CHOICE;
}

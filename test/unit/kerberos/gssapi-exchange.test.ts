import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuthenticationError } from '../../../src/errors.js';
import { answerToOffer } from '../../../src/kerberos/gssapi-exchange.js';

describe('the answer to an offer of security layers', () => {
  it('is none of them if the server offers that, and a refusal of any other bytes', () => {
    const bytes = fc.oneof(fc.uint8Array({ minLength: 4, maxLength: 4 }), fc.uint8Array());
    fc.assert(
      fc.property(bytes, (offer) => {
        const isUsable = offer.length === 4 && (offer[0] as number) % 2 === 1;
        if (isUsable) expect(answerToOffer(offer)).toEqual(Buffer.from([1, 0, 0, 0]));
        else expect(() => answerToOffer(offer)).toThrow(AuthenticationError);
      }),
    );
    expect(() => answerToOffer(Buffer.from([6, 0, 1, 0]))).toThrow(
      'demands a security layer of SASL (qop auth-int or auth-conf)',
    );
  });
});

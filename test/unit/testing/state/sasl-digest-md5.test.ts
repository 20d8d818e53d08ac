import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { challengeOf, verdictOn } from '../../../../src/testing/state/sasl-digest-md5.js';
import { quoted, responseTo } from '../../../support/wire/digest-md5.js';

const NONCE = 'bm9uY2U=';
const CHALLENGE = String(challengeOf(NONCE));
const USERS = new Map([['worker', 'secret']]);

describe('the verdict on a response', () => {
  it('is that any user with the right password is accepted, whatever characters both consist of', () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(text, text, (username, password) => {
        const response = Buffer.from(responseTo(CHALLENGE, { username, password }));
        const verdict = verdictOn(response, NONCE, new Map([[username, password]]));
        expect(verdict).toMatchObject({ kind: 'accepted', username });
        expect(verdictOn(response, NONCE, new Map([[username, `${password}x`]]))).toEqual({
          kind: 'refused',
        });
        expect(verdictOn(response, NONCE, new Map())).toEqual({ kind: 'refused' });
      }),
    );
  });

  it('is no acceptance for any bytes, and never an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5000 }), (bytes) => {
        expect(verdictOn(Buffer.from(bytes), NONCE, USERS).kind).not.toBe('accepted');
      }),
    );
  });

  it('is never an exception, and right, for a response that was changed in one place', () => {
    const right = Buffer.from(responseTo(CHALLENGE, { username: 'worker', password: 'secret' }));
    const at = fc.nat({ max: right.length - 1 });
    fc.assert(
      fc.property(at, fc.nat({ max: 2 }), fc.uint8Array({ maxLength: 3 }), (index, removed, added) => {
        const changed = [right.subarray(0, index), Buffer.from(added), right.subarray(index + removed)];
        const verdict = verdictOn(Buffer.concat(changed), NONCE, USERS);
        // What is accepted is still the response of this user; a directive that doesn't matter may have changed.
        if (verdict.kind === 'accepted') expect(verdict.username).toBe('worker');
        else expect(['refused', 'unreadable']).toContain(verdict.kind);
      }),
    );
  });

  it('is never an exception for text made of what responses are made of', () => {
    const piece = fc.constantFrom(
      ...['username', 'realm', 'nonce', 'maxbuf', 'nonce-count', 'response', 'x'],
      ...['=', ',', '"', '\\', ' ', '\t', '\n', '1', 'zk-sasl-md5', quoted('worker'), NONCE],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const { kind } = verdictOn(Buffer.from(pieces.join('')), NONCE, USERS);
        expect(['refused', 'unreadable']).toContain(kind);
      }),
    );
  });

  it('needs time in proportion to the length, also of the longest response', () => {
    for (const text of [' ', '\\', '"', 'a', '=', 'a ', 'a="\\'])
      expect(verdictOn(Buffer.from(text.repeat(4096).slice(0, 4096)), NONCE, USERS)).toEqual({
        kind: 'refused',
      });
  });
});

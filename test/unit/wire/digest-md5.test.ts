import { describe, expect, it } from 'vitest';
import { proofsOf } from '../../../src/wire/digest-md5.js';

describe('the proofs of DIGEST-MD5', () => {
  const secrets = { username: 'chris', realm: 'elwood.innosoft.com', password: 'secret' };

  it("are those of RFC 2831's example for IMAP", () => {
    const proofs = proofsOf({
      ...secrets,
      nonce: 'OA6MG9tEQGm2hh',
      cnonce: Buffer.from('OA6MHXh6VqTrRk'),
      uri: Buffer.from('imap/elwood.innosoft.com'),
    });
    expect(proofs).toEqual({
      response: 'd388dad90d4bbd760a152321f2143af7',
      rspauth: 'ea40f60335c427b5527b84dbabcdfffd',
    });
  });

  it("are those of RFC 2831's example for ACAP", () => {
    const proofs = proofsOf({
      ...secrets,
      nonce: 'OA9BSXrbuRhWay',
      cnonce: Buffer.from('OA9BSuZWMSpW8m'),
      uri: Buffer.from('acap/elwood.innosoft.com'),
    });
    expect(proofs).toEqual({
      response: '6084c6db3fede7352c551284490fd0fc',
      rspauth: '2f0b3d7c3c2e486600ef710726aa2eae',
    });
  });
});

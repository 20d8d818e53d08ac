import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuthenticationError } from '../../../../src/errors.js';
import { answerTo, checkProof, digestMd5 } from '../../../../src/session/sasl/digest-md5-exchange.js';
import { challengeOf, verdictOn } from '../../../../src/testing/state/sasl-digest-md5.js';

const CHRIS = { username: 'chris', password: 'secret' };
const IMAP = 'realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8';
const ACAP = 'realm="elwood.innosoft.com",nonce="OA9BSXrbuRhWay",qop="auth",algorithm=md5-sess,charset=utf-8';

const answer = (challenge: string, user = CHRIS) => answerTo(Buffer.from(challenge), user, 'cnonce');
const directive = (token: Buffer, name: string) =>
  new RegExp(`(?:^|,)${name}=("[^"]*"|[^,]*)`).exec(token.toString())?.[1];

describe('the answer to a challenge', () => {
  it("is that of RFC 2831's example for IMAP, and so is the proof that the server owes", () => {
    const { response, rspauth } = answerTo(
      Buffer.from(IMAP),
      CHRIS,
      'OA6MHXh6VqTrRk',
      'imap/elwood.innosoft.com',
    );
    expect(response.toString()).toBe(
      'charset=utf-8,username="chris",realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",nc=00000001,cnonce="OA6MHXh6VqTrRk",digest-uri="imap/elwood.innosoft.com",response=d388dad90d4bbd760a152321f2143af7,qop=auth',
    );
    expect(rspauth).toBe('ea40f60335c427b5527b84dbabcdfffd');
    expect(() => checkProof(Buffer.from('rspauth=ea40f60335c427b5527b84dbabcdfffd'), rspauth)).not.toThrow();
  });

  it("is that of RFC 2831's example for ACAP, and so is the proof that the server owes", () => {
    const { response, rspauth } = answerTo(
      Buffer.from(ACAP),
      CHRIS,
      'OA9BSuZWMSpW8m',
      'acap/elwood.innosoft.com',
    );
    expect(directive(response, 'response')).toBe('6084c6db3fede7352c551284490fd0fc');
    expect(rspauth).toBe('2f0b3d7c3c2e486600ef710726aa2eae');
  });

  it('names the service of ZooKeeper, and no user to act as', () => {
    const { response } = answer(challengeOf('bm9uY2U=').toString());
    expect(directive(response, 'digest-uri')).toBe('"zookeeper/zk-sasl-md5"');
    expect(directive(response, 'authzid')).toBeUndefined();
  });

  it.each([
    ['in ISO 8859-1 if that has all its characters', 'jürgen', 'pässword'],
    ['in UTF-8 otherwise', '日本', '語'],
    ['each value on its own', '日本', 'pässword'],
    ['each value on its own, the other way round', 'jürgen', '語'],
  ])('hashes %s, as the server does', (_, username, password) => {
    const { response, rspauth } = answer(challengeOf('bm9uY2U=').toString(), { username, password });
    expect(directive(response, 'username')).toBe(`"${username}"`);
    const verdict = verdictOn(response, 'bm9uY2U=', new Map([[username, password]]));
    expect(verdict).toMatchObject({ kind: 'accepted', token: Buffer.from(`rspauth=${rspauth}`) });
  });

  it('is right for any user and password, and wrong with any other password', () => {
    const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(text, text, (username, password) => {
        const { response, rspauth } = answer(challengeOf('bm9uY2U=').toString(), { username, password });
        const verdict = verdictOn(response, 'bm9uY2U=', new Map([[username, password]]));
        expect(verdict).toEqual({ kind: 'accepted', username, token: Buffer.from(`rspauth=${rspauth}`) });
        const wrong = new Map([[username, `${password}x`]]);
        expect(verdictOn(response, 'bm9uY2U=', wrong)).toEqual({ kind: 'refused' });
      }),
    );
  });

  it.each([
    ['several qops of which one is auth', IMAP.replace('"auth"', '"auth-int, auth ,auth-conf"')],
    ['no qop', IMAP.replace('qop="auth",', '')],
    ['a directive that is not known', `${IMAP},stale=true,maxbuf=1,x=y`],
    ['names in capitals, and white space', IMAP.replace('charset', ' \t CHARSET ')],
    ['a nonce that needs quotation marks', IMAP.replace('OA6MG9tEQGm2hh', 'a\\"b\\\\c, d=e')],
  ])('is given to %s', (_, challenge) => {
    expect(directive(answer(challenge).response, 'qop')).toBe('auth');
  });

  it('repeats the nonce as it was sent', () => {
    const { response } = answer(IMAP.replace('OA6MG9tEQGm2hh', 'a\\"b\\\\c, d=e'));
    expect(response.toString()).toContain('nonce="a\\"b\\\\c, d=e"');
  });

  it.each([
    ['several nonces', `${IMAP},nonce="x"`, 'has something twice'],
    ['no nonce', IMAP.replace('nonce=', 'once='), 'no realm or no nonce'],
    ['an empty nonce', IMAP.replace('OA6MG9tEQGm2hh', ''), 'no realm or no nonce'],
    ['several realms', `${IMAP},realm="x"`, 'has something twice'],
    ['no realm', IMAP.replace('realm=', 'real='), 'no realm or no nonce'],
    ['another algorithm', IMAP.replace('md5-sess', 'md5'), 'another algorithm'],
    ['no algorithm', IMAP.replace('algorithm=md5-sess,', ''), 'another algorithm'],
    ['another qop', IMAP.replace('"auth"', '"auth-int"'), 'a qop other than auth'],
    ['another charset', IMAP.replace('utf-8', 'iso-8859-1'), 'another charset'],
    ['text that can not be read', `${IMAP},x="`, "can't be read"],
    ['nothing', '', 'no realm or no nonce'],
    ['more than 2048 bytes', `${IMAP},x="${'y'.repeat(2048)}"`, 'bytes, and 2048 are the most'],
  ])('is refused to a challenge with %s', (_, challenge, why) => {
    expect(() => answer(challenge)).toThrow(AuthenticationError);
    expect(() => answer(challenge)).toThrow(why);
  });

  it('is for any bytes an answer or an AuthenticationError, which shows nothing of the challenge or the user', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
      fc
        .constantFrom(...IMAP.split(','), 'realm', 'nonce="TOP', '=', ',', '"', '\\', ' ', 'SECRET')
        .map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const challenge = Buffer.concat(pieces.flatMap((each) => [each, Buffer.from(',')]));
        try {
          expect(directive(answerTo(challenge, CHRIS, 'x').response, 'response')).toMatch(/^[\da-f]{32}$/);
        } catch (error) {
          expect(error).toBeInstanceOf(AuthenticationError);
          expect((error as Error).message).not.toMatch(/SECRET|chris|secret|TOP/);
        }
      }),
    );
  });
});

describe("the server's proof", () => {
  const right = 'ea40f60335c427b5527b84dbabcdfffd';

  it.each([
    '',
    'rspauth',
    'rspauth=',
    `rspauth=${right.slice(1)}`,
    `rspauth=${right}0`,
    `rspauth=${right.replace('e', 'f')}`,
    `rspauth=${right.toUpperCase()}`,
    `response=${right}`,
    `rspauth=${right},rspauth=${right}`,
    `rspauth=${right},x="${'y'.repeat(2048)}"`,
  ])('is refused if it is %j', (token) => {
    expect(() => checkProof(Buffer.from(token), right)).toThrow(AuthenticationError);
  });

  it('is not among any other bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), (bytes) => {
        expect(() => checkProof(Buffer.from(bytes), right)).toThrow(AuthenticationError);
      }),
    );
  });
});

describe('an exchange of DIGEST-MD5', () => {
  const mechanism = digestMd5(CHRIS, () => 'cnonce');
  const begin = () => mechanism.begin();
  const challenge = challengeOf('bm9uY2U=');
  const { rspauth } = answerTo(challenge, CHRIS, 'cnonce');

  it('is an empty token, the answer, and the end when the server has proved itself', () => {
    const exchange = begin();
    expect(exchange.step(undefined)).toEqual(Buffer.alloc(0));
    expect(exchange.step(challenge)).toEqual(answerTo(challenge, CHRIS, 'cnonce').response);
    expect(exchange.step(Buffer.from(`rspauth=${rspauth}`))).toBeUndefined();
    expect(() => exchange.step(challenge)).toThrow(AuthenticationError);
  });

  it('is refused to a server that sends no challenge: it has no users', () => {
    const exchange = begin();
    exchange.step(undefined);
    expect(() => exchange.step(null)).toThrow('a JAAS configuration');
  });

  it.each([
    [
      'is refused at its end for no token: the server lets in clients with a wrong password',
      null,
      'allowSaslFailedClients',
    ],
    ['is refused at its end for a wrong proof', Buffer.from(`rspauth=${'0'.repeat(32)}`), 'without a proof'],
    ['is refused at its end for another challenge', challenge, 'without a proof'],
  ])('%s', (_, token, why) => {
    const exchange = begin();
    exchange.step(undefined);
    exchange.step(challenge);
    expect(() => exchange.step(token)).toThrow(AuthenticationError);
    expect(() => exchange.step(Buffer.from(`rspauth=${rspauth}`))).toThrow(AuthenticationError);
    const other = begin();
    other.step(undefined);
    other.step(challenge);
    expect(() => other.step(token)).toThrow(why);
  });
});

import { parseDirectives, proofsOf } from '../../wire/digest-md5-proofs.js';

/** Passwords, by the name of the user. */
export type SaslUsers = ReadonlyMap<string, string>;

/**
 * The server's half of DIGEST-MD5 (RFC 2831), as Java's: it asks for what Java asks for, and ignores what Java ignores, such as the
 * number of uses of a nonce. Pure: the nonce is passed in.
 */

const REALM = 'zk-sasl-md5'; // ZooKeeper's, at each server.
const URI = `zookeeper/${REALM}`;
const QOP = 'auth';
const LONGEST_RESPONSE_BYTES = 4096;

/** The challenge to a client. The nonce needs no quotation marks: it is Base64. */
export function challengeOf(nonce: string): Buffer {
  return Buffer.from(`realm="${REALM}",nonce="${nonce}",charset=utf-8,algorithm=md5-sess`);
}

/** What a server makes of a response. Java fails to read some of them, and then ZooKeeper ends the connection without a reply. */
export type Verdict =
  | { readonly kind: 'accepted'; readonly username: string; readonly token: Buffer }
  | { readonly kind: 'refused' | 'unreadable' };

const REFUSED: Verdict = { kind: 'refused' };
const UNREADABLE: Verdict = { kind: 'unreadable' };

/** Any bytes get a verdict. */
export function verdictOn(response: Buffer, nonce: string, users: SaslUsers): Verdict {
  const directives =
    response.length > LONGEST_RESPONSE_BYTES ? undefined : parseDirectives(response, DIRECTIVES);
  if (directives === undefined) return REFUSED;
  const text = (name: (typeof DIRECTIVES)[number]) => directives.get(name)?.toString('utf8');
  const [maxbuf, count] = [text('maxbuf'), text('nonce-count')];
  if (maxbuf !== undefined && !isJavaInteger(maxbuf, 10)) return UNREADABLE;
  if (count !== undefined && !isJavaInteger(count, 16)) return UNREADABLE;
  const isAsAsked =
    (text('charset') ?? 'utf-8') === 'utf-8' &&
    text('realm') === REALM &&
    text('nonce') === nonce &&
    (count === undefined || Number.parseInt(count, 16) === 1) &&
    (text('qop') ?? QOP) === QOP &&
    text('digest-uri')?.toLowerCase() === URI;
  const [username, uri, cnonce] = [text('username'), directives.get('digest-uri'), directives.get('cnonce')];
  if (!isAsAsked || username === undefined || uri === undefined || cnonce === undefined) return REFUSED;
  if (username === '') return UNREADABLE;
  const password = users.get(username);
  if (password === undefined) return REFUSED;
  const authzid = directives.get('authzid');
  const proofs = proofsOf({ username, realm: REALM, password, nonce, cnonce, uri, authzid });
  if (text('response') !== proofs.response) return REFUSED;
  return { kind: 'accepted', username, token: Buffer.from(`rspauth=${proofs.rspauth}`) };
}

/** Whether Java's `Integer.parseInt` reads it. */
function isJavaInteger(text: string, radix: 10 | 16): boolean {
  const digits = radix === 10 ? /^[+-]?\d+$/ : /^[+-]?[\da-f]+$/i;
  const value = digits.test(text) ? Number.parseInt(text, radix) : Number.NaN;
  return value >= -(2 ** 31) && value < 2 ** 31;
}

const DIRECTIVES = [
  'username',
  'realm',
  'nonce',
  'cnonce',
  'nonce-count',
  'qop',
  'digest-uri',
  'response',
  'maxbuf',
  'charset',
  'cipher',
  'authzid',
] as const;

import { createHash } from 'node:crypto';

/**
 * The server's half of DIGEST-MD5 (RFC 2831), as Java's: it asks for what Java asks for, and ignores what Java ignores, such as the
 * number of uses of a nonce. Pure: the nonce is passed in.
 */

const REALM = 'zk-sasl-md5'; // ZooKeeper's, at each server.
const URI = `zookeeper/${REALM}`;
const QOP = 'auth';
/** Java hashes 1 whatever the client has sent as `nc`. */
const NONCE_COUNT = '00000001';
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

/** Any bytes get a verdict. `passwordOf` returns `undefined` for a name that isn't a user's. */
export function verdictOn(
  response: Buffer,
  nonce: string,
  passwordOf: (username: string) => string | undefined,
): Verdict {
  const directives = response.length > LONGEST_RESPONSE_BYTES ? undefined : parseDirectives(response);
  if (directives === undefined) return REFUSED;
  const text = (name: DirectiveName) => directives.get(name)?.toString('utf8');
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
  const password = passwordOf(username);
  if (password === undefined) return REFUSED;
  const authzid = directives.get('authzid');
  const proofs = proofsOf({ username, realm: REALM, password, nonce, cnonce, uri, authzid });
  if (text('response') !== proofs.response) return REFUSED;
  return { kind: 'accepted', username, token: Buffer.from(`rspauth=${proofs.rspauth}`) };
}

/** What both ends hash. Bytes are hashed as they are. */
export interface Secrets {
  readonly username: string;
  readonly realm: string;
  readonly password: string;
  readonly nonce: string;
  readonly cnonce: Buffer;
  readonly uri: Buffer;
  readonly authzid?: Buffer | undefined;
}

/** The client's proof that it knows the password, and the server's. */
export function proofsOf(secrets: Secrets): { readonly response: string; readonly rspauth: string } {
  const { username, realm, password, nonce, cnonce, uri, authzid } = secrets;
  const user = md5(joined(hashed(username), hashed(realm), hashed(password)));
  const key = joined(user, Buffer.from(nonce), cnonce, ...(authzid === undefined ? [] : [authzid]));
  const proof = (method: string) => {
    const request = md5(joined(Buffer.from(method), uri)).toString('hex');
    const parts = [md5(key).toString('hex'), nonce, NONCE_COUNT, cnonce, QOP, request];
    return md5(joined(...parts.map((part) => Buffer.from(part)))).toString('hex');
  };
  return { response: proof('AUTHENTICATE'), rspauth: proof('') };
}

function md5(bytes: Buffer): Buffer {
  return createHash('md5').update(bytes).digest();
}

const COLON = Buffer.from(':');

function joined(...parts: readonly Buffer[]): Buffer {
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [COLON, part])));
}

/** A text as it is hashed: in ISO 8859-1 if that has all its characters, else in UTF-8. */
function hashed(text: string): Buffer {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters of ISO 8859-1
  return Buffer.from(text, /^[\u0000-\u00ff]*$/.test(text) ? 'latin1' : 'utf8');
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
type DirectiveName = (typeof DIRECTIVES)[number];

// At each place: a separator; or a name, and if anything follows it, `=` and a value, in quotation marks or without.
const NEXT_DIRECTIVE =
  /[\n\r\t ,]|([^\n\r\t ,=]+)(?:$|[\n\r\t ]*=[\n\r\t ]*(?:"((?:[^\\"]|\\[\s\S])*)"|(?![\n\r\t "]|$)([^\n\r\t ,]*))(?:[\n\r\t ,]|$))/y;

/** The values of the directives that a server knows; `undefined` if they can't be read, or one of them is there twice. */
function parseDirectives(bytes: Buffer): ReadonlyMap<DirectiveName, Buffer> | undefined {
  const text = bytes.toString('latin1'); // A character for each byte.
  const found = new Map<DirectiveName, Buffer>();
  const pattern = new RegExp(NEXT_DIRECTIVE); // It has the position, so each text needs its own.
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text);
    if (match === null) return undefined;
    const [, given, quoted, plain = ''] = match;
    const name = DIRECTIVES.find((each) => each === given?.toLowerCase());
    if (name === undefined) continue;
    if (found.has(name)) return undefined;
    found.set(name, Buffer.from(quoted?.replace(/\\([\s\S])/g, '$1') ?? plain, 'latin1'));
  }
  return found;
}

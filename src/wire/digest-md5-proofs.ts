import { createHash } from 'node:crypto';

/** The parts of DIGEST-MD5 (RFC 2831) that both ends have: the proofs, and the form of the tokens. Pure. */

const QOP = 'auth';
/** Java's server hashes 1 whatever the client has sent as `nc`. */
export const NONCE_COUNT = '00000001';

/** What both ends hash. Bytes are hashed as they are. */
export interface Secrets {
  readonly username: string;
  readonly realm: string;
  readonly password: string;
  readonly nonce: string;
  readonly cnonce: Buffer;
  readonly uri: Buffer;
  /** The user that the client wants to act as. */
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

// At each place: a separator; or a name, and if anything follows it, `=` and a value, in quotation marks or without.
const NEXT_DIRECTIVE =
  /[\n\r\t ,]|([^\n\r\t ,=]+)(?:$|[\n\r\t ]*=[\n\r\t ]*(?:"((?:[^\\"]|\\[\s\S])*)"|(?![\n\r\t "]|$)([^\n\r\t ,]*))(?:[\n\r\t ,]|$))/y;

/**
 * The values of the directives that are `known`, without the quotation marks; others are ignored. `undefined` if they can't be read, or one
 * that is known is there twice. It reads any bytes as Java does.
 */
export function parseDirectives<Name extends string>(
  bytes: Buffer,
  known: readonly Name[],
): ReadonlyMap<Name, Buffer> | undefined {
  const text = bytes.toString('latin1'); // A character for each byte.
  const found = new Map<Name, Buffer>();
  const pattern = new RegExp(NEXT_DIRECTIVE); // It has the position, so each text needs its own.
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text);
    if (match === null) return undefined;
    const [, given, quoted, plain = ''] = match;
    const name = known.find((each) => each === given?.toLowerCase());
    if (name === undefined) continue;
    if (found.has(name)) return undefined;
    found.set(name, Buffer.from(quoted?.replace(/\\([\s\S])/g, '$1') ?? plain, 'latin1'));
  }
  return found;
}

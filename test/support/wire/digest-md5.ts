import { createHash, randomBytes } from 'node:crypto';
import { sasl } from './operations.js';
import type { RawClient, Reply } from './raw-client.js';

/** The client's half of DIGEST-MD5 (RFC 2831), apart from `src` on purpose. */

/** Who answers a challenge, and what is hashed for it. */
export interface Claim {
  readonly username: string;
  readonly password: string;
  /** @default 'zookeeper/zk-sasl-md5' */
  readonly uri?: string;
  /** @default random */
  readonly cnonce?: string;
  readonly authzid?: string;
}

/** A response's directives, by name, each as it is sent: text is quoted. `undefined` is left out. */
export type Directives = Readonly<Record<string, string | undefined>>;

/** Changes the directives of a right response, after it was computed. */
export type Edit = (directives: Directives) => Directives;

const asItIs: Edit = (directives) => directives;

/** Sends an empty token, then the response to the challenge. Resolves with the answer to the response. */
export async function authenticate(
  client: RawClient,
  claim: Claim,
  edit: Edit = asItIs,
): Promise<Reply<Buffer | null>> {
  const challenge = await client.do(sasl(''));
  return client.ask(sasl(responseTo(String(challenge), claim, edit)));
}

/** The response to a challenge of a ZooKeeper server. */
export function responseTo(challenge: string, claim: Claim, edit: Edit = asItIs): string {
  const { username, password, authzid } = claim;
  const { uri = 'zookeeper/zk-sasl-md5', cnonce = randomBytes(16).toString('base64') } = claim;
  const directive = (name: string) => new RegExp(`\\b${name}="([^"]*)"`).exec(challenge)?.[1] ?? '';
  const [realm, nonce] = [directive('realm'), directive('nonce')];
  const user = Buffer.concat([hashed(username), COLON, hashed(realm), COLON, hashed(password)]);
  const end = authzid === undefined ? '' : `:${authzid}`;
  const key = Buffer.concat([
    createHash('md5').update(user).digest(),
    Buffer.from(`:${nonce}:${cnonce}${end}`),
  ]);
  const directives = edit({
    charset: 'utf-8',
    username: quoted(username),
    realm: quoted(realm),
    nonce: quoted(nonce),
    nc: '00000001',
    cnonce: quoted(cnonce),
    'digest-uri': quoted(uri),
    maxbuf: '65536',
    response: hex(`${hex(key)}:${nonce}:00000001:${cnonce}:auth:${hex(`AUTHENTICATE:${uri}`)}`),
    qop: 'auth',
    authzid: authzid === undefined ? undefined : quoted(authzid),
  });
  return Object.entries(directives)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
    .join(',');
}

const COLON = Buffer.from(':');

/** The bytes of a value in a hash: ISO 8859-1 if that has all its characters. */
function hashed(value: string): Buffer {
  const isLatin1 = Buffer.from(value, 'latin1').toString('latin1') === value;
  return Buffer.from(value, isLatin1 ? 'latin1' : 'utf8');
}

function hex(value: string | Buffer): string {
  return createHash('md5').update(value).digest('hex');
}

export function quoted(value: string): string {
  return `"${value.replace(/[\\"]/g, '\\$&')}"`;
}

import { timingSafeEqual } from 'node:crypto';
import { AuthenticationError } from '../../errors.js';
import { NONCE_COUNT, parseDirectives, proofsOf } from '../../wire/digest-md5-proofs.js';
import type { SaslExchange, SaslPassword } from './sasl-mechanism.js';

/**
 * The client's half of DIGEST-MD5 (RFC 2831): it answers a challenge, and checks that the server knows the password, too. Errors say
 * nothing of the tokens, since logs show errors.
 */

const ZOOKEEPER_URI = 'zookeeper/zk-sasl-md5'; // The same at each server, whatever its name.
const LONGEST_CHALLENGE_BYTES = 2048;
const NO_TOKEN = Buffer.alloc(0);

/** Gives the mechanism of a user. @param newNonce - gives a text that no one can guess, each time another one */
export function digestMd5(user: SaslPassword, newNonce: () => string): { begin(): DigestMd5Exchange } {
  return { begin: () => new DigestMd5Exchange(user, newNonce) };
}

/** An exchange in which no step waits for anything. */
export class DigestMd5Exchange implements SaslExchange {
  readonly advice = 'are the user and the password those of its JAAS configuration?';
  readonly #user: SaslPassword;
  readonly #newNonce: () => string;
  #state:
    | { readonly name: 'new' | 'asked' | 'over' }
    | { readonly name: 'answered'; readonly rspauth: string } = { name: 'new' };

  constructor(user: SaslPassword, newNonce: () => string) {
    this.#user = user;
    this.#newNonce = newNonce;
  }

  /** @throws AuthenticationError if the server can't check a password, or doesn't show that it knows the password */
  step(token: Buffer | null | undefined): Buffer | undefined {
    const state = this.#state;
    this.#state = { name: 'over' };
    switch (state.name) {
      case 'new':
        this.#state = { name: 'asked' };
        return NO_TOKEN;
      case 'asked': {
        if (!token) throw new AuthenticationError(NO_CHALLENGE);
        const { response, rspauth } = answerTo(token, this.#user, this.#newNonce());
        this.#state = { name: 'answered', rspauth };
        return response;
      }
      case 'answered':
        if (!token) throw new AuthenticationError(LET_IN);
        checkProof(token, state.rspauth);
        return undefined;
      case 'over':
        throw new AuthenticationError('the SASL exchange is over');
    }
  }
}

const NO_CHALLENGE =
  'a server knows no SASL users, so it can check no password: has it a JAAS configuration with a section Server?';
const LET_IN =
  'a server has let this client in without a check of the password: the password or the user is wrong, and the server sets allowSaslFailedClients';
const FORGED =
  'a server accepted the SASL password without a proof that it knows the password itself: refused';

/** What the client sends for a challenge, and the proof that the server owes it then. */
export interface ChallengeAnswer {
  readonly response: Buffer;
  readonly rspauth: string;
}

/** @throws AuthenticationError for a challenge that can't be read, or asks for what Conclave doesn't do. Any bytes have one of the two outcomes */
export function answerTo(
  challenge: Buffer,
  { username, password }: SaslPassword,
  cnonce: string,
  uri = ZOOKEEPER_URI,
): ChallengeAnswer {
  const { realm, nonce } = readChallenge(challenge);
  const proofs = proofsOf({
    ...{ username, realm, password, nonce },
    cnonce: Buffer.from(cnonce),
    uri: Buffer.from(uri),
  });
  const directives = [
    'charset=utf-8',
    `username=${quoted(username)}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `nc=${NONCE_COUNT}`,
    `cnonce=${quoted(cnonce)}`,
    `digest-uri=${quoted(uri)}`,
    `response=${proofs.response}`,
    'qop=auth',
  ];
  return { response: Buffer.from(directives.join(',')), rspauth: proofs.rspauth };
}

/** @throws AuthenticationError if the server's last token isn't the proof. It takes the same time, whatever part of the proof is wrong */
export function checkProof(token: Buffer, rspauth: string): void {
  const given = parse(token, ['rspauth']).get('rspauth') ?? NO_TOKEN;
  const expected = Buffer.from(rspauth);
  if (given.length !== expected.length || !timingSafeEqual(given, expected))
    throw new AuthenticationError(FORGED);
}

function readChallenge(challenge: Buffer): { readonly realm: string; readonly nonce: string } {
  const directives = parse(challenge, ['realm', 'nonce', 'qop', 'algorithm', 'charset']);
  const realm = directives.get('realm')?.toString();
  const nonce = directives.get('nonce')?.toString();
  if (realm === undefined || nonce === undefined || nonce === '')
    throw unusable('it has no realm or no nonce');
  if (directives.get('algorithm')?.toString().toLowerCase() !== 'md5-sess')
    throw unusable('it asks for another algorithm than md5-sess');
  if (directives.get('charset')?.toString().toLowerCase() !== 'utf-8')
    throw unusable('it asks for another charset than utf-8');
  const offered = (directives.get('qop')?.toString() ?? 'auth').split(',').map((each) => each.trim());
  if (!offered.includes('auth'))
    throw unusable('it asks for a qop other than auth: Conclave has no security layer of SASL, use TLS');
  return { realm, nonce };
}

function parse<Name extends string>(token: Buffer, known: readonly Name[]): ReadonlyMap<Name, Buffer> {
  if (token.length > LONGEST_CHALLENGE_BYTES)
    throw unusable(`it has ${token.length} bytes, and ${LONGEST_CHALLENGE_BYTES} are the most`);
  const directives = parseDirectives(token, known);
  if (directives === undefined) throw unusable("it can't be read, or has something twice");
  return directives;
}

function unusable(why: string): AuthenticationError {
  return new AuthenticationError(`a server has sent a token of DIGEST-MD5 that can't be used: ${why}`);
}

function quoted(value: string): string {
  return `"${value.replace(/[\\"]/g, '\\$&')}"`;
}

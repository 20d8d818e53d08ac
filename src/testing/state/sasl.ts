import { challengeOf, verdictOn } from './digest-md5.js';

/** How far a connection's SASL exchange is. There is one at most on a connection. */
export type SaslStage =
  | { readonly kind: 'none' | 'over' }
  | { readonly kind: 'challenged'; readonly nonce: string };

/** Passwords, by the name of the user. */
export type SaslUsers = ReadonlyMap<string, string>;

/** What a server answers to a token, and where the exchange is then. */
export type SaslAnswer =
  | { readonly kind: 'challenged'; readonly nonce: string; readonly token: Buffer }
  | { readonly kind: 'authenticated'; readonly username: string; readonly token: Buffer }
  | { readonly kind: 'refused' | 'unreadable' };

/** The server's half of an exchange, without the connection: a token's answer. `newNonce` gives a text that no one can guess. */
export function answerToken(
  stage: SaslStage,
  token: Buffer,
  users: SaslUsers,
  newNonce: () => string,
): SaslAnswer {
  switch (stage.kind) {
    case 'none': {
      const nonce = newNonce(); // ZooKeeper doesn't look at the first token.
      return { kind: 'challenged', nonce, token: challengeOf(nonce) };
    }
    case 'challenged': {
      const verdict = verdictOn(token, stage.nonce, (username) => users.get(username));
      return verdict.kind === 'accepted' ? { ...verdict, kind: 'authenticated' } : { kind: verdict.kind };
    }
    case 'over':
      return { kind: 'refused' };
  }
}

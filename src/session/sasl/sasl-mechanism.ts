import type { Server } from '../../platform/injected-environment.js';

/** A user of ZooKeeper's `DigestLoginModule`. It authenticates by DIGEST-MD5, which doesn't send the password. */
export interface SaslPassword {
  /** The name in the servers' JAAS configuration: `worker` for `user_worker`. */
  readonly username: string;
  /** The password. Conclave never logs it. */
  readonly password: string;
}

/** How a client authenticates by SASL. `conclave/kerberos` gives one for GSSAPI. */
export interface SaslMechanism {
  /**
   * Begins an exchange with a server, for one connection. If it throws, that counts as a failed try of this server.
   *
   * @param server - as the connect string names it, without a dot at the end of a name, also if the name has several addresses
   */
  begin(server: Server): SaslExchange | Promise<SaslExchange>;
}

/**
 * The client's half of one exchange. Conclave sends one token at a time. If the connection ends, no further step is asked for. A step that
 * still runs then isn't waited for, and its result has no effect.
 */
export interface SaslExchange {
  /** @internal What to check if the server refuses a token: the end of the error's message. It may show no secret. */
  readonly advice?: string;
  /**
   * Takes the server's token, and gives the next one to send. If a step throws an `AuthenticationError`, that counts as a refusal; any
   * other error counts as a failed try of this server.
   *
   * @param token - the server's token; `undefined` asks for the first one, and `null` means that the server's reply had no token
   * @returns the next token, which may be empty; `undefined` if the exchange is complete
   */
  step(token: Buffer | null | undefined): Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

import { InvalidOptionError } from '../errors.js';

/** As much of the npm package `kerberos` as Conclave uses. */
export interface KerberosModule {
  /**
   * Makes the client's half of an exchange.
   *
   * @param service - the service's name and host, as `zookeeper@zk1.example.com`
   */
  initializeClient(service: string): Promise<KerberosClient>;
}

/** A client of the package `kerberos`. All tokens are in Base64. */
export interface KerberosClient {
  /** Whether client and server have proven themselves. */
  readonly contextComplete: boolean;
  /** Takes the server's token, at first `''`, and gives the client's. */
  step(challenge: string): Promise<string>;
  /** The message within the server's token. */
  unwrap(challenge: string): Promise<string>;
  /** A token with a message. Before version 7 of the package, the options must be given. */
  wrap(challenge: string, options: object): Promise<string>;
}

/** @throws InvalidOptionError */
export function checkModule(value: unknown): KerberosModule {
  if (typeof (value as Partial<KerberosModule> | null | undefined)?.initializeClient === 'function')
    return value as KerberosModule;
  throw new InvalidOptionError(
    'module',
    value,
    "the npm package kerberos 1.1 or later: give all of it, as import * as krb5 from 'kerberos' does",
  );
}

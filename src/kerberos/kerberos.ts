import { isIP } from 'node:net';
import { InvalidOptionError } from '../errors.js';
import { type ChecksOf, checkFunction, readOptions } from '../platform/checks.js';
import type { SaslMechanism } from '../session/sasl/sasl-mechanism.js';
import { gssapiExchange, type KerberosModule } from './gssapi-exchange.js';
import { TaskQueue } from './task-queue.js';

/** Which principal each server has. */
export interface KerberosOptions {
  /**
   * The host in the principal of a server, as `zk1.example.com` of `zookeeper/zk1.example.com`.
   * @default the name in the connect string
   */
  readonly hostOf?: ((server: { readonly host: string; readonly port: number }) => string) | undefined;
  /** The service in the servers' principals. @default 'zookeeper' */
  readonly service?: string | undefined;
}

const CHECKS = {
  hostOf: checkFunction<NonNullable<KerberosOptions['hostOf']>>,
  service: checkService,
} satisfies ChecksOf<KerberosOptions>;
/** A service, or a host, in a principal. */
const PART_OF_PRINCIPAL = /^[^\s/@]+$/;

/** One for all mechanisms, because the threads that Kerberos blocks are those of the process. */
const turnsOfProcess = new TaskQueue();

/**
 * Gives the mechanism by which a session authenticates with Kerberos (SASL's GSSAPI), for its option `sasl`:
 *
 *     import { kerberos } from 'conclave/kerberos';
 *     import * as krb5 from 'kerberos';
 *     const session = await Session.connect('zk1.example.com:2181', { sasl: kerberos(krb5) });
 *
 * The ticket comes from the credentials of the process: a keytab that `KRB5_CLIENT_KTNAME` names, or the cache of `kinit`. Conclave has no
 * password, and renews nothing: the Kerberos library takes a new ticket from the keytab when the former one is over.
 *
 * The server proves to be the one of the principal. It may not demand a security layer of SASL: use TLS instead.
 *
 * If Kerberos gives no ticket, that is a failed try of the server, and its message says why. Only one connection of the process asks the KDC
 * at a time, because that blocks one of Node's few threads for files and DNS.
 *
 * @param module - the npm package `kerberos`, which you install
 * @throws InvalidOptionError for a wrong option, and from `connect()` or `start()` if the host of a server is an address
 */
export function kerberos(module: KerberosModule, options: KerberosOptions = {}): SaslMechanism {
  const checkedModule = checkModule(module);
  const { hostOf, service } = readOptions('kerberos', options, CHECKS);
  return {
    begin: (server) => {
      const host = hostOf === undefined ? nameOf(server.host) : checkHost(hostOf(server));
      return gssapiExchange({ module: checkedModule, service, host, turns: turnsOfProcess });
    },
  };
}

function checkModule(value: unknown): KerberosModule {
  if (typeof (value as Partial<KerberosModule> | null | undefined)?.initializeClient === 'function')
    return value as KerberosModule;
  throw new InvalidOptionError(
    'module',
    value,
    "the npm package kerberos 1.1 or later: give all of it, as import * as krb5 from 'kerberos' does",
  );
}

function checkService(name: string, value: unknown = 'zookeeper'): string {
  if (typeof value === 'string' && PART_OF_PRINCIPAL.test(value)) return value;
  throw new InvalidOptionError(name, value, "a name such as 'zookeeper', without blanks, / and @");
}

function nameOf(host: string): string {
  if (isIP(host) === 0) return host;
  const expected =
    'the name of its host, because Kerberos knows servers by name: write it so, or give kerberos() the option hostOf';
  throw new InvalidOptionError('a server in the connect string', host, expected);
}

function checkHost(value: unknown): string {
  if (typeof value === 'string' && PART_OF_PRINCIPAL.test(value) && isIP(value) === 0) return value;
  throw new InvalidOptionError('hostOf()', value, 'the name of a host, as in the principal of the server');
}

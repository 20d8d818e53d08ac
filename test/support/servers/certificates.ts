import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The files for ZooKeeper's and Node's ends of a TLS connection, made by Java's keytool. */
export interface Certificates {
  /** The lines of `zoo.cfg` for a server whose certificate is for `localhost` and 127.0.0.1. */
  readonly settings: Record<string, string>;
  /** The authority's certificate, PEM. */
  readonly ca: Buffer;
  /** A client's key and certificate, and a server's, in PKCS#12 with {@link PASSPHRASE}. */
  readonly client: Buffer;
  readonly server: Buffer;
  remove(): Promise<void>;
}

export const PASSPHRASE = 'changeit';

/** An authority, and a server and a client with a certificate of it. */
export async function makeCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'conclave-certificates-'));
  const store = (name: string) => join(folder, `${name}.p12`);
  const keytool = (command: string, name: string, ...rest: string[]) =>
    promisify(execFile)('keytool', [
      command,
      ...['-keystore', store(name), '-storetype', 'PKCS12', '-storepass', PASSPHRASE, '-noprompt', ...rest],
    ]);
  const generate = (alias: string, ...rest: string[]) =>
    keytool(
      '-genkeypair',
      'all',
      ...['-alias', alias, '-dname', `CN=${alias}`, '-keyalg', 'EC', '-validity', '2', ...rest],
    );
  const extract = (alias: string) =>
    keytool(
      '-importkeystore',
      alias,
      ...['-srckeystore', store('all'), '-srcstorepass', PASSPHRASE, '-srcalias', alias],
    );
  await generate('authority', '-ext', 'bc:c');
  await generate('server', '-signer', 'authority', '-ext', 'san=dns:localhost,ip:127.0.0.1');
  await generate('client', '-signer', 'authority');
  const pem = join(folder, 'authority.pem');
  await Promise.all([
    extract('server'),
    extract('client'),
    keytool('-exportcert', 'all', '-alias', 'authority', '-rfc', '-file', pem),
  ]);
  await keytool('-importcert', 'trusted', '-alias', 'authority', '-file', pem);
  const [ca, client, server] = await Promise.all(
    [pem, store('client'), store('server')].map((path) => readFile(path)),
  );
  return {
    settings: {
      serverCnxnFactory: 'org.apache.zookeeper.server.NettyServerCnxnFactory',
      'ssl.keyStore.location': store('server'),
      'ssl.keyStore.password': PASSPHRASE,
      'ssl.trustStore.location': store('trusted'),
      'ssl.trustStore.password': PASSPHRASE,
      'authProvider.x509': 'org.apache.zookeeper.server.auth.X509AuthenticationProvider',
    },
    ca: ca as Buffer,
    client: client as Buffer,
    server: server as Buffer,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

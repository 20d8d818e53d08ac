import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findKdc } from '../../../tools/kerberos/installed.mjs';
import { freePort } from '../../../tools/ports.mjs';
import { until } from '../waiting.mjs';

const REALM = 'CONCLAVE.TEST';

/** A KDC of Kerberos on 127.0.0.1, with a realm of its own. */
export class Kdc {
  /** Of Kerberos's library in clients and servers. */
  readonly configuration: string;
  readonly #folder: string;
  readonly #port: number;
  readonly #env: NodeJS.ProcessEnv;
  #process: ReturnType<typeof spawn> | undefined;
  readonly #endWithProcess = () => this.#process?.kill('SIGKILL');

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
    this.configuration = join(folder, 'krb5.conf');
    const ofServer = { KRB5_CONFIG: this.configuration, KRB5_KDC_PROFILE: join(folder, 'kdc.conf') };
    this.#env = { ...process.env, ...ofServer, KRB5RCACHEDIR: folder };
  }

  /** Starts one, which runs until {@link remove}. */
  static async start(): Promise<Kdc> {
    const folder = await mkdtemp(join(tmpdir(), 'conclave-kdc-'));
    const port = await freePort();
    const kdc = new Kdc(folder, port);
    await writeFile(kdc.configuration, clientSettings(port));
    await writeFile(join(folder, 'kdc.conf'), kdcSettings(folder, port));
    await promisify(execFile)(findKdc().kdb5_util, ['create', '-s', '-P', 'master', '-r', REALM], {
      env: kdc.#env,
    });
    process.once('exit', kdc.#endWithProcess);
    await kdc.resume();
    return kdc;
  }

  /** Adds a principal, as `zookeeper/localhost`. The path of a keytab that has its key. */
  async addPrincipal(name: string): Promise<string> {
    const keytab = join(this.#folder, `${name.replaceAll(/\W/g, '-')}.keytab`);
    for (const query of [`addprinc -randkey ${name}`, `ktadd -k ${keytab} ${name}`])
      await promisify(execFile)(findKdc()['kadmin.local'], ['-r', REALM, '-q', query], { env: this.#env });
    return keytab;
  }

  /** The JAAS configuration of a server with that principal. */
  jaasOf(principal: string, keytab: string): string {
    return `Server {
    com.sun.security.auth.module.Krb5LoginModule required
    useKeyTab=true
    storeKey=true
    useTicketCache=false
    keyTab=${JSON.stringify(keytab)}
    principal="${principal}@${REALM}";
};
`;
  }

  /** A path for a cache of tickets, which is empty at first. */
  newCache(): string {
    return `FILE:${join(this.#folder, `cache-${crypto.randomUUID()}`)}`;
  }

  /** Ends the process: nothing listens at its port until {@link resume}. It keeps its principals. */
  async pause(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Lets it stand still with its port open (SIGSTOP): it accepts questions, and answers none before {@link resume}. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  /** Starts it, or continues it after {@link freeze}. */
  async resume(): Promise<void> {
    if (this.#process !== undefined) return void this.#process.kill('SIGCONT');
    this.#process = spawn(findKdc().krb5kdc, ['-n', '-r', REALM], { env: this.#env, stdio: 'ignore' });
    await until(() => this.#listens(), 'a KDC that listens');
  }

  async remove(): Promise<void> {
    process.off('exit', this.#endWithProcess);
    await this.pause();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #listens(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.#port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      }).on('error', () => resolve(false));
    });
  }
}

// Only TCP, so that a KDC that is gone is noticed immediately.
function clientSettings(port: number): string {
  return `[libdefaults]
  default_realm = ${REALM}
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  ${REALM} = {
    kdc = 127.0.0.1:${port}
  }
`;
}

function kdcSettings(folder: string, port: number): string {
  return `[kdcdefaults]
  kdc_listen = 127.0.0.1:${port}
  kdc_tcp_listen = 127.0.0.1:${port}
[realms]
  ${REALM} = {
    database_name = ${join(folder, 'principal')}
    key_stash_file = ${join(folder, 'stash')}
    acl_file = ${join(folder, 'kadm5.acl')}
    max_life = 1h
  }
`;
}

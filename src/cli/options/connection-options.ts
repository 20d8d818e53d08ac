import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { describe } from '../../errors.js';
import { isCredential } from '../../platform/checks.js';
import { standardErrorLogger } from '../../platform/logging/logger.js';
import type { Credentials } from '../../session/connection/connection.js';
import type { SaslPassword } from '../../session/sasl/sasl-mechanism.js';
import { Session } from '../../session/session.js';
import { LEAST_SESSION_TIMEOUT_MS, type SessionOptions } from '../../session/session-options.js';
import { readTls, type TlsFiles } from '../../session/tls-files.js';
import { asUserError, EXIT, orUserError, UserError } from '../process/exit-codes.js';
import { collected, durationOption } from './argument-parsers.js';

/** The options of all commands that talk to ZooKeeper. */
export interface ConnectionOptions {
  readonly connect?: string;
  readonly sessionTimeout?: number; // Not of a command that only takes over sessions.
  readonly connectTimeout: number;
  readonly auth?: readonly string[];
  readonly sasl?: string;
  readonly tls?: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where the servers are, and how to open sessions with them. */
export interface Target {
  readonly connect: string;
  readonly session: Omit<SessionOptions, 'signal'> & { readonly connectTimeoutMs: number };
  /** The files that `session.tls` reads. */
  readonly tlsFiles: TlsFiles | undefined;
}

export function withConnection(command: Command): Command {
  return withServers(command, 'how long to look for a server that answers').addOption(
    durationOption(
      '--session-timeout <duration>',
      'how long ZooKeeper keeps a silent session alive; a lease is a third of it',
      '6s',
      { least: LEAST_SESSION_TIMEOUT_MS },
    ),
  );
}

/** All of these options but the session timeout. @param connectTimeout - the help of that option */
export function withServers(command: Command, connectTimeout: string): Command {
  return command
    .addOption(
      new Option('-c, --connect <servers>', 'host:port,host:port…, optionally followed by a /chroot').env(
        'ZOOKEEPER',
      ),
    )
    .addOption(durationOption('--connect-timeout <duration>', connectTimeout, '10s', { least: 1 }))
    .addOption(orFrom(CREDENTIALS, new Option('--auth <scheme:credentials>', AUTH_HELP).argParser(collected)))
    .addOption(orFrom(SASL, new Option('--sasl <user:password>', SASL_HELP)))
    .option('--tls', 'use TLS; trust the certificate authorities of the system')
    .option(
      '--ca <file>',
      'use TLS; trust these certificate authorities (PEM). This file and the next two are read again for each search for a server',
    )
    .option('--cert <file>', 'use TLS, with this client certificate (PEM)')
    .option('--key <file>', "the certificate's key (PEM)");
}

// The environment variables with the credentials, used unless an option gives them.
const CREDENTIALS = 'CONCLAVE_AUTH';
const SASL = 'CONCLAVE_SASL';

const AUTH_HELP =
  'credentials for ZooKeeper, as digest:user:password; only these credentials may use the nodes that are created with them. May be given several times. The environment is safer: every user of the machine can read a command line';
const SASL_HELP =
  'user and password for SASL with DIGEST-MD5; only this user may use the nodes that are created with them. The environment is safer';

/** Compose files and unit files can't unset a variable: they make it empty. An empty option is a mistake. */
function orFrom(variable: string, option: Option): Option {
  return process.env[variable] === '' ? option : option.env(variable);
}

/** This process's environment for child processes: without the credentials, which are for this process only. */
export function publicEnvironment(): NodeJS.ProcessEnv {
  const { [CREDENTIALS]: _auth, [SASL]: _sasl, ...others } = process.env;
  return others;
}

/** This process's environment for a program that it guards. The program may have `CONCLAVE_AUTH` from there, but never the password of SASL. */
export function environmentOfProgram(): NodeJS.ProcessEnv {
  const { [SASL]: _sasl, ...others } = process.env;
  return others;
}

/** A line for the help of each command with such options. */
export const DURATIONS = 'Durations: 500ms, 30s, 2m, 1h; a bare number is milliseconds, from 100 on.';

/** @throws UserError if an option is missing, or a file can't be read */
export function targetOf(options: ConnectionOptions): Target {
  const { connect, sessionTimeout, connectTimeout, auth, sasl } = options;
  if (connect === undefined || connect === '')
    throw new UserError(EXIT.usage, 'which servers? Give --connect host:port, or set ZOOKEEPER.');
  const credentials = (auth ?? []).map(credentialsOf);
  const tlsFiles = tlsFilesOf(options);
  return {
    connect,
    session: {
      sessionTimeoutMs: sessionTimeout,
      connectTimeoutMs: connectTimeout,
      logger: orUserError(standardErrorLogger), // Throws if CONCLAVE_LOG_LEVEL is no level.
      auth: credentials.length > 0 ? credentials : undefined,
      sasl: sasl === undefined ? undefined : passwordOf(sasl),
      tls: tlsFiles && (() => readTls(tlsFiles)), // The files may be replaced while this process runs.
    },
    tlsFiles,
  };
}

/** Calls `use` with a session, and closes that afterwards. @throws UserError for everything that goes wrong */
export async function withSession<T>(
  options: ConnectionOptions,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const { connect, session: sessionOptions } = targetOf(options);
  let session: Session | undefined;
  try {
    session = await Session.connect(connect, sessionOptions);
    return await use(session);
  } catch (error) {
    throw asUserError(error);
  } finally {
    await session?.close();
  }
}

/** The error for servers that can't be reached at the start. */
export function unreachable({ connect, session: { connectTimeoutMs } }: Target): UserError {
  return new UserError(
    EXIT.unavailable,
    `no server of ${connect} accepted the session within ${connectTimeoutMs} ms`,
  );
}

/** The error doesn't quote the text: it may contain a password. */
function credentialsOf(text: string): Credentials {
  const [, scheme, credentials] = /^([\w-]+):(.*[^\r\n])$/s.exec(text) ?? [];
  if (scheme === undefined || credentials === undefined)
    throw new UserError(
      EXIT.usage,
      `--auth, or ${CREDENTIALS}: expected scheme:credentials, as digest:user:password, without a line break at the end.`,
    );
  return { scheme, credentials };
}

/** As {@link credentialsOf}. The first colon ends the user's name. */
function passwordOf(text: string): SaslPassword {
  const [, username, password] = /^([^:]+):(.*[^\r\n])$/s.exec(text) ?? [];
  if (isCredential(username) && isCredential(password)) return { username, password };
  throw new UserError(
    EXIT.usage,
    `--sasl, or ${SASL}: expected user:password, without a line break at the end.`,
  );
}

/** @throws UserError if a file can't be read now */
function tlsFilesOf({ tls, ca, cert, key }: ConnectionOptions): TlsFiles | undefined {
  if ((cert === undefined) !== (key === undefined))
    throw new UserError(EXIT.usage, '--cert and --key go together: give both or neither.');
  if (tls !== true && ca === undefined && cert === undefined) return undefined;
  for (const [option, file] of Object.entries({ ca, cert, key })) {
    try {
      readTls({ [option]: file });
    } catch (error) {
      throw new UserError(EXIT.usage, `--${option}: ${describe(error)}`, { cause: error });
    }
  }
  return { ca: ca && resolve(ca), cert: cert && resolve(cert), key: key && resolve(key) };
}

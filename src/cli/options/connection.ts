import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { describe } from '../../errors.js';
import { type Logger, standardErrorLogger } from '../../platform/logging/logger.js';
import type { Credentials } from '../../session/connection/connection.js';
import { Session } from '../../session/session.js';
import type { SessionOptions } from '../../session/session-options.js';
import { codeOfError, EXIT } from '../exit-codes.js';
import { UserError } from '../user-error.js';
import { duration } from './arguments.js';

/** What the options that all commands have in common say, which talk to ZooKeeper. */
export interface ConnectionOptions {
  readonly connect?: string;
  readonly sessionTimeout: number;
  readonly connectTimeout: number;
  readonly auth?: readonly string[];
  readonly tls?: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where the servers are, and how sessions with them are opened. */
export interface Target {
  readonly connect: string;
  readonly session: Omit<SessionOptions, 'signal'> & { readonly connectTimeoutMs: number };
}

/** Adds those options. */
export function withConnection(command: Command): Command {
  return command
    .addOption(
      new Option('-c, --connect <servers>', 'host:port,host:port…, with a /chroot behind it if need be').env(
        'ZOOKEEPER',
      ),
    )
    .addOption(
      new Option(
        '--session-timeout <duration>',
        'how long ZooKeeper waits for a session that is silent; a lease is a third of it',
      )
        .default(6000, '6s')
        .argParser(duration({ least: 1 })),
    )
    .addOption(
      new Option('--connect-timeout <duration>', 'how long to look for a server that serves')
        .default(10_000, '10s')
        .argParser(duration({ least: 1 })),
    )
    .addOption(
      new Option(
        '--auth <scheme:credentials>',
        'who this is to ZooKeeper, as digest:user:password; what it creates is for it only. May be given several times. The environment is the safer place: a command line is for all to see',
      )
        .env(CREDENTIALS)
        .argParser((value, before: readonly string[] = []) => [...before, value]),
    )
    .option('--tls', "speak TLS, with servers whose certificates the system's authorities have signed")
    .option('--ca <file>', 'speak TLS, with servers whose certificates these authorities have signed (PEM)')
    .option('--cert <file>', 'speak TLS, and show this certificate (PEM)')
    .option('--key <file>', "the certificate's key (PEM)");
}

/** What shows the servers who this is, where no option does. */
const CREDENTIALS = 'CONCLAVE_AUTH';

/** This process's environment, for others: without the credentials, which are nobody else's. */
export function publicEnvironment(): NodeJS.ProcessEnv {
  const { [CREDENTIALS]: _, ...others } = process.env;
  return others;
}

/** For the help of each command that has them. */
export const DURATIONS = 'Durations: 500ms, 30s, 2m, 1h; a bare number is milliseconds, from 100 on.';

/** @throws Problem if something is missing or can't be read */
export function targetOf(options: ConnectionOptions): Target {
  const { connect, sessionTimeout, connectTimeout, auth } = options;
  if (connect === undefined || connect === '')
    throw new UserError(EXIT.usage, 'which servers? Give --connect host:port, or set ZOOKEEPER.');
  const tls = tlsOf(options);
  const credentials = (auth ?? []).map(credentialsOf);
  return {
    connect,
    session: {
      sessionTimeoutMs: sessionTimeout,
      connectTimeoutMs: connectTimeout,
      logger: logger(),
      ...(credentials.length > 0 && { auth: credentials }),
      ...(tls !== undefined && { tls }),
    },
  };
}

/** Opens a session, lets it be used, and closes it. @throws Problem for what the user can see to */
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
    throw asProblem(error);
  } finally {
    await session?.close();
  }
}

/** What is wrong, for whoever typed the command. */
export function asProblem(error: unknown): UserError {
  if (error instanceof UserError) return error;
  const code = codeOfError(error) ?? EXIT.unavailable;
  return new UserError(code, describe(error), { cause: error });
}

function logger(): Logger {
  try {
    return standardErrorLogger();
  } catch (error) {
    throw asProblem(error); // The environment names no level.
  }
}

/** Never shows what was given. */
function credentialsOf(text: string): Credentials {
  const [, scheme, credentials] = /^([\w-]+):(.+)$/s.exec(text) ?? [];
  if (scheme === undefined || credentials === undefined)
    throw new UserError(EXIT.usage, '--auth: expected scheme:credentials, as digest:user:password.');
  return { scheme, credentials };
}

function tlsOf({ tls, ca, cert, key }: ConnectionOptions): SessionOptions['tls'] {
  if ((cert === undefined) !== (key === undefined))
    throw new UserError(EXIT.usage, '--cert and --key go together.');
  if (tls !== true && ca === undefined && cert === undefined) return undefined;
  return {
    ...(ca !== undefined && { ca: read('--ca', ca) }),
    ...(cert !== undefined && { cert: read('--cert', cert) }),
    ...(key !== undefined && { key: read('--key', key) }),
  };
}

function read(option: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UserError(EXIT.usage, `${option}: ${describe(error)}`, { cause: error });
  }
}

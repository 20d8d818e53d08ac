import { InvalidOptionError, NOT_SHOWN } from '../../errors.js';
import {
  type ChecksOf,
  checkBoolean,
  checkOneOf,
  checkPositiveMs,
  checkWhole,
  isCredential,
  OF_CREDENTIALS,
  readOptions,
} from '../../platform/checks.js';
import { type Logger, resolveLogger } from '../../platform/logging/logger.js';
import { type Clock, SystemClock } from '../../platform/time/clock.js';
import { isOfAnotherCopy } from '../../public-class/instance-brand.js';
import { isKerberosName } from '../state/acl.js';
import { DIALECTS, type Dialect } from '../state/dialects.js';
import type { SaslUsers } from '../state/sasl-digest-md5.js';
import { REQUIRED_SCHEMES, type RequiredScheme } from '../state/state-machine.js';

/** Options of an {@link EmbeddedZooKeeper}. All times are in milliseconds. */
export interface EmbeddedZooKeeperOptions {
  /** The address on which it listens: a loopback address. @default '127.0.0.1' */
  readonly host?: '127.0.0.1' | '::1' | 'localhost';
  /** @default 0: any free port */
  readonly port?: number;
  /** ZooKeeper's `tickTime`: sessions end at multiples of it. @default 500 */
  readonly tickMs?: number;
  /** The shortest session timeout that it grants. @default 2 ticks */
  readonly minSessionTimeoutMs?: number;
  /** The longest session timeout that it grants. @default 20 ticks */
  readonly maxSessionTimeoutMs?: number;
  /**
   * The release of ZooKeeper as which it answers, or `keeper` for ClickHouse Keeper. For the differences see docs/guides/testing.md.
   *
   * @default '3.8'
   */
  readonly dialect?: Dialect;
  /**
   * The number of the last transaction before those of this server, from 0 to 2 ** 62. Fencing tokens are numbers of transactions. Where a
   * store keeps a fence from one start of the server to the next, give a higher number at each start:
   * otherwise its tokens start again, and the store refuses them.
   *
   * @default 0n
   */
  readonly firstZxid?: bigint;
  /**
   * The users who can authenticate by SASL (DIGEST-MD5), each with the password. Access lists may then name identities of the scheme
   * `sasl`: `{ scheme: 'sasl', id: user }`. The user `super` has the rights of all of them. {@link EmbeddedZooKeeper.setSaslUsers} replaces the users.
   *
   * @default none: the server has no SASL, and answers a SASL token with none, as a ZooKeeper without a JAAS configuration does
   */
  readonly saslUsers?: Readonly<Record<string, string>>;
  /**
   * Requires that clients authenticate by one of these schemes, as ZooKeeper's `enforce.auth.schemes` does. Every other request
   * gets the error -124 until then, and the connection ends; the session lives.
   *
   * @default []
   */
  readonly requireAuth?: readonly ('sasl' | 'digest')[];
  /** Times sessions and dates stats; a {@link TestClock}, to advance time. @default the system's */
  readonly clock?: Clock;
  /** Gets one warning: that this server is for tests. @default the console */
  readonly logger?: Logger;
}

/** This machine alone: the server has no access control. */
const HOSTS = ['127.0.0.1', '::1', 'localhost'] as const;
const FOR_TESTS = ': this server is for tests and has no access control';
const DEFAULT_TICK_MS = 500;
const SHORTEST_TICKS = 2;
const LONGEST_TICKS = 20;
const LAST_PORT = 65_535;
const HIGHEST_ZXID = 2n ** 62n; // As many again are left for the server's own transactions.

const CHECKS = {
  host: (name, value) => checkOneOf(name, value, HOSTS, '127.0.0.1', FOR_TESTS),
  port: (name, value) => (value === undefined ? 0 : checkWhole(name, value, 0, LAST_PORT)),
  tickMs: (name, value) => checkPositiveMs(name, value, DEFAULT_TICK_MS),
  minSessionTimeoutMs: (name, value) => checkPositiveMs(name, value, undefined),
  maxSessionTimeoutMs: (name, value) => checkPositiveMs(name, value, undefined),
  dialect: (name, value) => checkOneOf(name, value, DIALECTS, '3.8'),
  firstZxid: checkZxid,
  saslUsers: (_, value) => (value === undefined ? undefined : checkSaslUsers(value)),
  requireAuth: checkRequireAuth,
  clock: checkClock,
  logger: (name, value) => resolveLogger(value, name),
} satisfies ChecksOf<EmbeddedZooKeeperOptions>;

/** @internal Options that were checked, with their defaults. */
export type ResolvedEmbeddedOptions = ReturnType<typeof resolveEmbeddedOptions>;

/** @throws InvalidOptionError naming the option, the value and what would be right */
export function resolveEmbeddedOptions(given: unknown) {
  const options = readOptions('EmbeddedZooKeeper', given, CHECKS);
  const { tickMs, minSessionTimeoutMs = SHORTEST_TICKS * tickMs } = options;
  const { maxSessionTimeoutMs = Math.max(LONGEST_TICKS * tickMs, minSessionTimeoutMs) } = options;
  if (maxSessionTimeoutMs < minSessionTimeoutMs) {
    throw new InvalidOptionError(
      'maxSessionTimeoutMs',
      maxSessionTimeoutMs,
      `at least minSessionTimeoutMs, which is ${minSessionTimeoutMs}`,
    );
  }
  return { ...options, minSessionTimeoutMs, maxSessionTimeoutMs };
}

function checkZxid(name: string, value: unknown = 0n): bigint {
  if (typeof value === 'bigint' && value >= 0n && value <= HIGHEST_ZXID) return value;
  throw new InvalidOptionError(name, value, 'a bigint from 0n to 2n ** 62n');
}

/** The error never shows a password. @throws InvalidOptionError naming the user, and what would be right */
export function checkSaslUsers(value: unknown): SaslUsers {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidOptionError('saslUsers', NOT_SHOWN, 'an object with a password for each user');
  const users = Object.entries(value);
  for (const [name, password] of users) {
    if (!isCredential(name) || !isKerberosName(name))
      throw new InvalidOptionError(
        'saslUsers',
        name,
        `names of users, ${OF_CREDENTIALS}, as user or user@REALM`,
      );
    if (!isCredential(password))
      throw new InvalidOptionError(`saslUsers.${name}`, NOT_SHOWN, `a password, ${OF_CREDENTIALS}`);
  }
  return new Map(users);
}

function checkRequireAuth(name: string, value: unknown = []): readonly RequiredScheme[] {
  const isRight = Array.isArray(value) && value.every((each) => REQUIRED_SCHEMES.includes(each));
  if (isRight) return [...value];
  const expected = `a list of ${REQUIRED_SCHEMES.map((each) => `'${each}'`).join(' and ')}`;
  throw new InvalidOptionError(name, value, expected);
}

function checkClock(name: string, value: Clock | undefined): Clock {
  if (value === undefined) return new SystemClock();
  const { now, date, after } = value ?? {};
  if ([now, date, after].every((each) => typeof each === 'function') && !isOfAnotherCopy(value)) return value;
  throw new InvalidOptionError(name, value, 'a clock with the methods now, date and after, as a TestClock');
}

/** How an `EmbeddedZooKeeper` starts again after a crash. */
export interface RestartOptions {
  /** Whether it has lost its data. @default false */
  readonly empty?: boolean;
}

/** @throws InvalidOptionError naming the option, the value and what would be right */
export function resolveRestartOptions(given: RestartOptions | undefined): Required<RestartOptions> {
  const empty = (name: string, value: unknown) => checkBoolean(name, value, false);
  return readOptions('restart', given, { empty }, { prefix: 'restart.' });
}

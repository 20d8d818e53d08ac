import { InvalidOptionError } from '../../errors.js';
import {
  checkBoolean,
  checkOneOf,
  checkOptions,
  checkPositiveMs,
  checkWhole,
} from '../../platform/checks.js';
import { type Logger, resolveLogger } from '../../platform/logging/logger.js';
import { type Clock, SystemClock } from '../../platform/time/clock.js';
import { isOfAnotherCopy } from '../../public-class/instance-brand.js';
import { DIALECTS, type Dialect } from '../state/zookeeper-release.js';

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
   * The release of ZooKeeper as which it answers. For the differences see docs/guides/testing.md.
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
  /** Times sessions and dates stats; a {@link TestClock}, to advance time. @default the system's */
  readonly clock?: Clock;
  /** Gets one warning: that this server is for tests. @default the console */
  readonly logger?: Logger;
}

/** @internal Checked options, with their defaults. */
export type ResolvedEmbeddedOptions = Required<EmbeddedZooKeeperOptions>;

const OPTIONS = [
  'host',
  'port',
  'tickMs',
  'minSessionTimeoutMs',
  'maxSessionTimeoutMs',
  'dialect',
  'firstZxid',
  'clock',
  'logger',
] as const;
const HOSTS = ['127.0.0.1', '::1', 'localhost'] as const;
const DEFAULT_TICK_MS = 500;
const SHORTEST_TICKS = 2;
const LONGEST_TICKS = 20;
const LAST_PORT = 65_535;
const HIGHEST_ZXID = 2n ** 62n; // As many again are left for the server's own transactions.

/** @throws InvalidOptionError naming the option, the value and what would be right */
export function resolveEmbeddedOptions(given: unknown): ResolvedEmbeddedOptions {
  const options = checkOptions<EmbeddedZooKeeperOptions>('EmbeddedZooKeeper', given, OPTIONS);
  const tickMs = checkPositiveMs('tickMs', options.tickMs, DEFAULT_TICK_MS);
  const minSessionTimeoutMs = checkPositiveMs(
    'minSessionTimeoutMs',
    options.minSessionTimeoutMs,
    SHORTEST_TICKS * tickMs,
  );
  const maxSessionTimeoutMs = checkPositiveMs(
    'maxSessionTimeoutMs',
    options.maxSessionTimeoutMs,
    Math.max(LONGEST_TICKS * tickMs, minSessionTimeoutMs),
  );
  if (maxSessionTimeoutMs < minSessionTimeoutMs) {
    throw new InvalidOptionError(
      'maxSessionTimeoutMs',
      maxSessionTimeoutMs,
      `at least minSessionTimeoutMs, which is ${minSessionTimeoutMs}`,
    );
  }
  return {
    host: checkHost(options.host),
    port: options.port === undefined ? 0 : checkWhole('port', options.port, 0, LAST_PORT),
    tickMs,
    minSessionTimeoutMs,
    maxSessionTimeoutMs,
    dialect: checkOneOf('dialect', options.dialect, DIALECTS, '3.8'),
    firstZxid: checkZxid(options.firstZxid),
    clock: checkClock(options.clock),
    logger: options.logger === undefined ? consoleLogger : resolveLogger(options.logger),
  };
}

function checkHost(value: unknown): (typeof HOSTS)[number] {
  const host = HOSTS.find((each) => each === (value ?? (value === null ? null : HOSTS[0])));
  if (host !== undefined) return host;
  throw new InvalidOptionError(
    'host',
    value,
    `one of ${HOSTS.map((each) => `'${each}'`).join(', ')}: this server is for tests and has no access control`,
  );
}

function checkZxid(value: unknown = 0n): bigint {
  if (typeof value === 'bigint' && value >= 0n && value <= HIGHEST_ZXID) return value;
  throw new InvalidOptionError('firstZxid', value, 'a bigint from 0n to 2n ** 62n');
}

function checkClock(value: Clock | undefined): Clock {
  if (value === undefined) return new SystemClock();
  const { now, date, after } = value ?? {};
  if ([now, date, after].every((each) => typeof each === 'function') && !isOfAnotherCopy(value)) return value;
  throw new InvalidOptionError(
    'clock',
    value,
    'a clock with the methods now, date and after, as a TestClock',
  );
}

/** By default the author of a test sees the warning that this is not a server for production. */
const consoleLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: (_details, message) => console.warn(message),
  error: (_details, message) => console.error(message),
};

/** How an `EmbeddedZooKeeper` starts again after a crash. */
export interface RestartOptions {
  /** Whether it has lost its data. @default false */
  readonly empty?: boolean;
}

/** @throws InvalidOptionError naming the option, the value and what would be right */
export function resolveRestartOptions(given: RestartOptions | undefined): Required<RestartOptions> {
  const { empty } = checkOptions<RestartOptions>('restart', given, ['empty']);
  return { empty: checkBoolean('restart.empty', empty, false) };
}

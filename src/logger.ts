import { createRequire } from 'node:module';
import type { pino } from 'pino';
import { InvalidOptionError } from './errors.js';
import { ignore } from './promises.js';

/** Any logger with pino's methods: pino itself, or an object of your own. What it throws is swallowed. */
export interface Logger {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

const METHODS = ['debug', 'info', 'warn', 'error'] as const;
const LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'];
const LEVEL_VARIABLE = 'CONCLAVE_LOG_LEVEL';

/**
 * The logger to use: the given one, made safe, or pino at the level that `CONCLAVE_LOG_LEVEL` names, else silent.
 *
 * @throws {@link InvalidOptionError} if `given` lacks a method or the variable names no level of pino's
 */
export function resolveLogger(given: unknown, option = 'logger'): Logger {
  if (given === undefined) return defaultLogger();
  if (!isLogger(given)) {
    throw new InvalidOptionError(option, given, `a logger with the methods ${METHODS.join(', ')}`);
  }
  return safeLogger(given);
}

/**
 * As the default is, but on standard error: for a command whose output is read by others.
 *
 * @throws {@link InvalidOptionError} if the variable names no level of pino's
 */
export function standardErrorLogger(): Logger {
  const level = levelOfEnvironment();
  if (level === 'silent') return SILENT;
  const pino = loadPino();
  return safeLogger(pino({ name: 'conclave', level }, pino.destination(2)));
}

let shared: Logger | undefined;

function defaultLogger(): Logger {
  const level = levelOfEnvironment();
  if (level === 'silent') return SILENT;
  shared ??= safeLogger(loadPino()({ name: 'conclave', level }));
  return shared;
}

const SILENT: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Only where it is to say something: it takes as long to load as half of Conclave. */
function loadPino(): typeof pino {
  return (createRequire(import.meta.url)('pino') as { pino: typeof pino }).pino;
}

function levelOfEnvironment(): string {
  const level = process.env[LEVEL_VARIABLE] ?? 'silent';
  if (!LEVELS.includes(level)) {
    throw new InvalidOptionError(
      `the environment variable ${LEVEL_VARIABLE}`,
      level,
      `one of ${LEVELS.join(', ')}`,
    );
  }
  return level;
}

function isLogger(value: unknown): value is Logger {
  if (typeof value !== 'object' || value === null) return false;
  return METHODS.every((method) => typeof (value as Record<string, unknown>)[method] === 'function');
}

/** A logger that fails must not take an election with it, and there is nowhere left to report that it did. */
function safeLogger(logger: Logger): Logger {
  const call = (method: (typeof METHODS)[number]) => (details: object, message: string) => {
    try {
      logger[method](details, message);
    } catch {
      return;
    }
  };
  return { debug: call('debug'), info: call('info'), warn: call('warn'), error: call('error') };
}

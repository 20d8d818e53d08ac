import type { pino } from 'pino';
import { InvalidOptionError } from '../../errors.js';
import { ignore } from '../async/promises.js';
import { printable } from '../printable.js';
import { detailsFor } from './logged-error.js';
import { LossyOutput, sayOnStandardError } from './lossy-output.js';

/**
 * Any logger with pino's methods: pino itself, or an object of your own. Conclave ignores errors that it throws. A thrown value is in
 * `details.err`: for pino the error itself, for others an object with its `name`, `message`, `code`, `stack` and `cause`.
 */
export interface Logger {
  /** Logs a detail that helps to follow the library's work. */
  debug(details: object, message: string): void;
  /** Logs an event that an operator may want to know. */
  info(details: object, message: string): void;
  /** Logs a problem that may need attention. */
  warn(details: object, message: string): void;
  /** Logs a failure. */
  error(details: object, message: string): void;
}

const METHODS = ['debug', 'info', 'warn', 'error'] as const;
const LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'];
const LEVEL_VARIABLE = 'CONCLAVE_LOG_LEVEL';
const VARIABLE = `the environment variable ${LEVEL_VARIABLE}`;

/**
 * The logger to use: the given one, made safe. Without one it is pino at the level that `CONCLAVE_LOG_LEVEL` names. Without that
 * variable it is a logger that prints warnings and errors on standard error.
 *
 * @throws {@link InvalidOptionError} if `given` lacks a method, or the variable doesn't name a level of pino
 */
export function resolveLogger(given: unknown, option = 'logger'): Logger {
  if (given === undefined) return defaultLogger();
  if (isOwn(given)) return given; // Conclave's own code has passed it on.
  if (!isLogger(given))
    throw new InvalidOptionError(option, given, `a logger with the methods ${METHODS.join(', ')}`);
  return safeLogger(given);
}

/**
 * A logger for a command. It is pino on standard error, at the level that `CONCLAVE_LOG_LEVEL` names, and silent without that
 * variable. A command's standard output is for other programs, and the command itself prints what its user has to know.
 *
 * @throws {@link InvalidOptionError} if the variable doesn't name a level of pino
 */
export function standardErrorLogger(): Logger {
  const level = levelOfEnvironment() ?? 'silent';
  if (level === 'silent') return SILENT;
  return pinoLogger(level);
}

let shared: Logger | undefined;

function defaultLogger(): Logger {
  const level = levelOfEnvironment();
  if (level === undefined) return LAST_RESORT;
  if (level === 'silent') return SILENT;
  shared ??= pinoLogger(level);
  return shared;
}

/** pino's own destination hangs when its device is full: it repeats the write when the process ends, again and again. */
function pinoLogger(level: string): Logger {
  const pino = loadPino(level);
  const output = new LossyOutput(
    () => process.stderr,
    (lost) => {
      let line = '';
      const logger = pino({ name: 'conclave' }, { write: (text) => (line = text) });
      logger.error({ lost }, 'lines before this one are lost: they could not be written');
      return line;
    },
  );
  const write = (line: string) => output.write(`${printable(line.trimEnd())}\n`);
  return safeLogger(pino({ name: 'conclave', level }, { write }));
}

/**
 * Loads pino, only on use: loading it takes as long as loading half of Conclave.
 *
 * @throws {@link InvalidOptionError} if pino isn't installed, for example beside a bundle: bundlers don't find a module that is
 *   loaded like this
 */
function loadPino(level: string): typeof pino {
  // A CommonJS bundle has no URL of the module. Then pino is searched beside the program.
  const here = (import.meta.url as string | undefined) ?? process.argv[1] ?? `${process.cwd()}/`;
  // `createRequire` isn't imported, because a bundler that recognizes it looks at its argument and warns of this one.
  const { createRequire } = process.getBuiltinModule('node:module');
  try {
    return (createRequire(here)('pino') as { pino: typeof pino }).pino;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    const expected = `pino to be installed where ${here} finds it (a bundle doesn't contain it), or the option \`logger\``;
    throw new InvalidOptionError(VARIABLE, level, expected);
  }
}

/** Logs nothing. */
export const SILENT: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
/** Used without a configured logger, so that warnings and errors aren't lost. */
const LAST_RESORT: Logger = {
  debug: ignore,
  info: ignore,
  warn: (details, message) => sayOnStandardError('warn', message, details),
  error: (details, message) => sayOnStandardError('error', message, details),
};

function loggerOf(log: (method: (typeof METHODS)[number], details: object, message: string) => void): Logger {
  const by = (method: (typeof METHODS)[number]) => (details: object, message: string) =>
    log(method, details, message);
  return { debug: by('debug'), info: by('info'), warn: by('warn'), error: by('error') };
}

/** The loggers with fields, each with the logger to which it adds them. */
const bound = new WeakMap<object, Logger>();

function isOwn(logger: unknown): logger is Logger {
  return logger === LAST_RESORT || bound.has(logger as object);
}

/** The same logger, with these fields in each line, for example the election's path. */
export function withFields(logger: Logger, fields: object): Logger {
  if (logger === SILENT) return SILENT;
  const withThem = loggerOf((method, details, message) => logger[method]({ ...fields, ...details }, message));
  bound.set(withThem, logger);
  return withThem;
}

/** Whether the logger is the one that is used without a configured logger. */
export function isLastResort(logger: Logger): boolean {
  const inner = bound.get(logger);
  return logger === LAST_RESORT || (inner !== undefined && isLastResort(inner));
}

const logged = new WeakSet<Error>();

/**
 * Logs an error that `emitter` will emit, once even if several emitters pass it on. If the emitter has a listener for it, it
 * isn't printed on standard error.
 */
export function logError(
  logger: Logger,
  error: Error,
  message: string,
  emitter: { listenerCount(event: 'error'): number },
): void {
  if (logged.has(error) || (isLastResort(logger) && emitter.listenerCount('error') > 0)) return;
  logged.add(error);
  logger.error({ err: error }, message);
}

const warnedOf = new Set<string>();

/** Warns about the configuration. On standard error that happens once in the life of the process, and not for each session. */
export function warnOfSetup(logger: Logger, details: object, message: string): void {
  if (isLastResort(logger)) {
    if (warnedOf.has(message)) return;
    warnedOf.add(message);
  }
  logger.warn(details, message);
}

function levelOfEnvironment(): string | undefined {
  const level = process.env[LEVEL_VARIABLE] || undefined; // Compose files and unit files can't unset a variable: they make it empty.
  if (level !== undefined && !LEVELS.includes(level))
    throw new InvalidOptionError(VARIABLE, level, `one of ${LEVELS.join(', ')}`);
  return level;
}

function isLogger(value: unknown): value is Logger {
  if (typeof value !== 'object' || value === null) return false;
  return METHODS.every((method) => typeof (value as Record<string, unknown>)[method] === 'function');
}

/** A logger that fails must not end an election, and its failure can't be reported anywhere. */
function safeLogger(logger: Logger): Logger {
  return loggerOf((method, details, message) => {
    try {
      const result: unknown = logger[method](detailsFor(logger, details), message);
      if (result instanceof Promise) result.catch(ignore); // Of an `async` method.
    } catch {
      return;
    }
  });
}

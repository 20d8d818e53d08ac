import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { LeadError, NoCandidateError, NoServerError } from '../../../../src/errors.js';
import {
  isLastResort,
  type Logger,
  logError,
  resolveLogger,
  standardErrorLogger,
  warnOfSetup,
  withFields,
} from '../../../../src/platform/logging/logger.js';
import { formatLine } from '../../../../src/platform/logging/lossy-output.js';
import { SILENT } from '../../../support/silent-logger.mjs';

const TIME = new Date('2026-05-04T03:02:01.000Z');

/** Records the output of the default logger, without the environment variable. */
function byDefault() {
  vi.stubEnv('CONCLAVE_LOG_LEVEL', undefined);
  const said: string[] = [];
  const write = vi
    .spyOn(process.stderr, 'write')
    .mockImplementation((line) => said.push(String(line).replace(/\n$/, '')) > 0);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    write.mockRestore();
  });
  return { logger: resolveLogger(undefined), said, write };
}

describe('a line on standard error', () => {
  it('has the time, the level, conclave, the message, and the details that there are', () => {
    const details = {
      server: { host: '10.0.0.1', port: 2181 },
      cause: 'the server closed it',
      losses: 2,
      token: 7n,
      none: undefined,
    };
    expect(formatLine(TIME, 'warn', 'session suspended', details)).toBe(
      '2026-05-04T03:02:01.000Z warn conclave: session suspended server=10.0.0.1:2181 cause="the server closed it" losses=2 token="7" none=undefined',
    );
  });

  it('is one line, and no command to a terminal, whatever the details are', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('cause', 'path'), fc.string({ unit: 'binary' })),
        (details) => {
          expect(formatLine(TIME, 'error', 'it failed', details)).not.toMatch(/\p{Cc}|\p{Zl}|\p{Zp}/u);
        },
      ),
    );
    expect(formatLine(TIME, 'error', 'it failed', { cause: 'x'.repeat(10_000) }).length).toBeLessThan(600);
  });
});

describe('the logger when none is given', () => {
  it('says warnings and errors, and nothing else', () => {
    const { logger, said } = byDefault();
    for (const method of ['debug', 'info', 'warn', 'error'] as const) logger[method]({}, `at ${method}`);
    expect(said).toEqual([
      expect.stringMatching(/^\S+Z warn conclave: at warn$/),
      expect.stringMatching(/^\S+Z error conclave: at error$/),
    ]);
    expect(isLastResort(logger)).toBe(true);
    expect(isLastResort(resolveLogger(logger))).toBe(true); // A supervisor passes it to its sessions in this way.
  });

  it.each(['', undefined])('is the same if CONCLAVE_LOG_LEVEL is %j (an empty one was refused)', (level) => {
    byDefault();
    vi.stubEnv('CONCLAVE_LOG_LEVEL', level);
    expect(isLastResort(resolveLogger(undefined))).toBe(true);
    expect(() => standardErrorLogger()).not.toThrow();
  });

  it('never throws', () => {
    const { logger, write } = byDefault();
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    expect(() => logger.error(cyclic, 'with what can not be shown')).not.toThrow();
    write.mockImplementation(() => {
      throw new Error('no standard error');
    });
    expect(() => logger.error({}, 'with a standard error that fails')).not.toThrow();
  });

  it('warns of how things are set up once', () => {
    const { logger, said } = byDefault();
    for (const path of ['/a', '/b']) warnOfSetup(logger, { path }, 'only of this test');
    expect(said).toHaveLength(1);
  });
});

describe('an error that an event reports', () => {
  const unheard = { listenerCount: () => 0 };
  const heard = { listenerCount: () => 1 };

  it('is not logged by default if the event has a listener, and is if it has none', () => {
    const { logger, said } = byDefault();
    const error = new Error('the reason');
    logError(logger, error, 'something went wrong', heard);
    expect(said).toEqual([]);
    logError(logger, error, 'something went wrong', unheard);
    expect(said).toEqual([
      expect.stringMatching(/something went wrong err="the reason"\n {4}Error: the reason\n/),
    ]);
  });

  it('is logged with the path of the election that it is about, since a process may join several', () => {
    const { logger, said } = byDefault();
    const bound = withFields(logger, { election: '/elections/a', id: 'one' });
    logError(bound, new NoCandidateError('b'), 'something went wrong', unheard);
    expect(said).toEqual([
      expect.stringMatching(
        /something went wrong election=\/elections\/a id=one err=".+" code=NO_CANDIDATE$/,
      ),
    ]);
  });

  it('is not logged by default with a listener, also by a logger that is bound to an election', () => {
    const { logger, said } = byDefault();
    const bound = withFields(withFields(logger, { election: '/a' }), { id: 'one' });
    expect([isLastResort(bound), resolveLogger(bound) === bound]).toEqual([true, true]);
    logError(bound, new Error('the reason'), 'something went wrong', heard);
    expect(said).toEqual([]);
  });

  it('is logged to a logger that was given, once, also if another emitter reports it too', () => {
    const log: unknown[] = [];
    const given = { error: (details: object) => void log.push(details) } as unknown as Logger;
    const error = new Error('the reason');
    for (const emitter of [heard, unheard]) logError(given, error, 'something went wrong', emitter);
    expect(log).toEqual([{ err: expect.objectContaining({ name: 'Error', message: 'the reason' }) }]);
  });
});

describe('an error in a line', () => {
  /** What `lead` has thrown, as it is reported. */
  const failed = () => {
    const cause = Object.assign(new Error('no such file'), { code: 'ENOENT' });
    return new LeadError(7, new TypeError('x is not a function', { cause }));
  };
  const STACK = /^TypeError: x is not a function\n {4}at .*logger\.test\.ts/;

  it('has the stack of what the application threw, and of its causes, below the line (both were lost)', () => {
    const { logger, said } = byDefault();
    logError(logger, failed(), 'something went wrong', { listenerCount: () => 0 });
    const [line, first, ...others] = said.join('\n').split('\n');
    expect(line).toMatch(/went wrong err="the work of term 7 failed: x is not a function" code=LEAD_FAILED$/);
    expect(first).toBe('    TypeError: x is not a function');
    expect(others[0]).toMatch(/^ {8}at .*logger\.test\.ts/);
    expect(others).toContain('    caused by: Error: no such file [ENOENT]');
  });

  it('has no stack of Node or of Conclave alone: it would say nothing', () => {
    const refused = new Error('connect ECONNREFUSED');
    refused.stack = `${refused}\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1611:16)`;
    const own = new Error('no answer within 2 s');
    own.stack = `${own}\n    at silent (file:///app/node_modules/conclave/dist/core.js:1:1)`;
    for (const err of [new NoServerError('zk:2181', 0, refused), new NoServerError('zk:2181', 0, own)])
      expect(formatLine(TIME, 'error', 'it failed', { err })).not.toContain('\n');
  });

  it('is one that cannot be mistaken for other lines, or for commands to a terminal, whatever the error says', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (message, stack) => {
        const err = Object.assign(new Error(message), { stack: `${stack}\n at app.js:1` });
        const [, ...below] = formatLine(TIME, 'error', 'it failed', { err }).split('\n');
        for (const line of below) expect(line).toMatch(/^ {4}[^\p{Cc}\p{Zl}\p{Zp}]*$/u);
      }),
    );
    const err = Object.assign(new Error('long'), { stack: 'x'.repeat(1e6) });
    expect(formatLine(TIME, 'error', 'it failed', { err }).length).toBeLessThan(20_000);
    err.cause = err;
    expect(() => formatLine(TIME, 'error', 'it failed', { err })).not.toThrow();
  });

  it('is written by pino with its type, code and stack, and those of its causes', () => {
    const lines: string[] = [];
    const logger = resolveLogger(pino({}, { write: (line: string) => void lines.push(line) }));
    logger.error({ err: failed() }, 'it failed');
    expect(JSON.parse(lines[0] ?? '').err).toMatchObject({
      type: 'LeadError',
      code: 'LEAD_FAILED',
      stack: expect.stringMatching(
        /caused by: TypeError: x is not a function\n {4}at [\s\S]*caused by: Error: no such/,
      ),
    });
  });

  it('is an object that JSON can show for another logger than pino (it was {})', () => {
    const log: object[] = [];
    const given = { ...SILENT, error: (details: object) => log.push(details) };
    resolveLogger(given).error({ err: failed() }, 'it failed');
    resolveLogger(given).error({ err: 'only a text' }, 'it failed');
    expect(JSON.parse(JSON.stringify(log))).toEqual([
      {
        err: {
          name: 'LeadError',
          message: 'the work of term 7 failed: x is not a function',
          code: 'LEAD_FAILED',
          stack: expect.any(String),
          cause: {
            name: 'TypeError',
            message: 'x is not a function',
            stack: expect.stringMatching(STACK),
            cause: expect.objectContaining({ message: 'no such file', code: 'ENOENT' }),
          },
        },
      },
      { err: { message: 'only a text' } },
    ]);
  });
});

it('a logger that is bound to an election has its fields in each line, at each level, behind which those of the line come', () => {
  const log: unknown[] = [];
  const method = (level: string) => (details: object, message: string) =>
    void log.push([level, details, message]);
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  const given = Object.fromEntries(levels.map((level) => [level, method(level)]));
  const bound = withFields(resolveLogger(given), { election: '/a', id: 'one' });
  for (const level of levels) bound[level]({ term: 1 }, 'a line');
  bound.info({ id: 'two' }, 'another');
  const fields = { election: '/a', id: 'one' };
  expect(log).toEqual([
    ...levels.map((level) => [level, { ...fields, term: 1 }, 'a line']),
    ['info', { election: '/a', id: 'two' }, 'another'],
  ]);
  expect(isLastResort(bound)).toBe(false);
});

it('a promise of a logger that rejects ends no process', async () => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  onTestFinished(() => void process.off('unhandledRejection', unhandled));
  const fails = async () => {
    throw new Error('the collector of logs is gone');
  };
  resolveLogger({ debug: fails, info: fails, warn: fails, error: fails }).error({}, 'it failed');
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).not.toHaveBeenCalled();
});

import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { NoCandidateError } from '../../../../src/errors.js';
import {
  isLastResort,
  type Logger,
  logError,
  resolveLogger,
  standardErrorLogger,
  warnOfSetup,
  withFields,
} from '../../../../src/platform/logging/logger.js';
import { formatLine } from '../../../../src/platform/logging/standard-error.js';

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
    expect(said).toEqual([expect.stringMatching(/something went wrong cause="the reason"$/)]);
  });

  it('is logged with the path of the election that it is about, since a process may join several', () => {
    const { logger, said } = byDefault();
    const bound = withFields(logger, { election: '/elections/a', id: 'one' });
    logError(bound, new NoCandidateError('b'), 'something went wrong', unheard);
    expect(said).toEqual([
      expect.stringMatching(
        /something went wrong election=\/elections\/a id=one cause=".+" code=NO_CANDIDATE$/,
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
    expect(log).toEqual([{ cause: 'the reason' }]);
  });
});

it('a logger that is bound to an election has its fields in each line, at each level, behind which those of the line come', () => {
  const log: unknown[] = [];
  const method = (level: string) => (details: object, message: string) =>
    void log.push([level, details, message]);
  const given = {
    debug: method('debug'),
    info: method('info'),
    warn: method('warn'),
    error: method('error'),
  };
  const bound = withFields(resolveLogger(given), { election: '/a', id: 'one' });
  for (const level of ['debug', 'info', 'warn', 'error'] as const) bound[level]({ term: 1 }, 'a line');
  bound.info({ id: 'two' }, 'another');
  const fields = { election: '/a', id: 'one' };
  expect(log).toEqual([
    ...['debug', 'info', 'warn', 'error'].map((level) => [level, { ...fields, term: 1 }, 'a line']),
    ['info', { election: '/a', id: 'two' }, 'another'],
  ]);
  expect(isLastResort(bound)).toBe(false);
});

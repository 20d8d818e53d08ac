import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { execaNode } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SessionOptions } from '../../src/session/session-options.js';
import { BROKEN_OUTPUTS, pipeWithoutReader } from '../support/conclave/broken-outputs.js';
import { nextEvent } from '../support/events.js';
import { within } from '../support/waiting.mjs';

const FIXTURE = join(import.meta.dirname, '../fixtures/default-logger.mjs');
const FAILING = join(import.meta.dirname, '../fixtures/failing-listener.mjs');
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

/** Runs a process of this scenario with the default logger, and returns its output. */
async function run(scenario: string, heard?: 'heard', level?: string) {
  const { stdout, stderr, exitCode } = await execaNode(FIXTURE, [scenario, ...(heard ? [heard] : [])], {
    env: { CONCLAVE_LOG_LEVEL: level },
    reject: false,
    timeout: 20_000,
  });
  return { heard: lines(stdout), said: lines(stderr), stderr, exitCode };
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** Checks that each line is Conclave's, or belongs to the stack below one, and returns the former without their times. */
function untimed(said: readonly string[]): string[] {
  const shape = new RegExp(`^${TIME} (?=(?:warn|error) conclave: )`);
  const own = said.filter((line) => !line.startsWith('    '));
  for (const line of own) expect(line).toMatch(shape);
  return own.map((line) => line.replace(shape, ''));
}

describe('without a listener and a logger', () => {
  it('nothing is said as long as nothing is wrong', async () => {
    expect(await run('nothing is wrong')).toMatchObject({ heard: ['done'], said: [], exitCode: 0 });
  });

  it('a lead that throws is an error on stderr for each term, with its stack (all was silent; the stack was lost)', async () => {
    const { said, exitCode } = await run('lead throws');
    const errors = untimed(said).filter((line) => line.startsWith('error'));
    expect(errors).toHaveLength(2);
    expect(errors[0]).toContain('the work of term 1 failed: the disk is full');
    expect(said).toContainEqual(expect.stringMatching(/^ {8}at .*default-logger\.mjs:\d+/));
    expect(exitCode).toBe(0);
  });

  it('a lead that prints a line and returns is no reason for a warning, also if that opens stdout', async () => {
    const result = await run('lead prints a line and returns');
    expect(result).toMatchObject({ heard: ['leading', 'leading', 'done'], said: [] });
  });

  it('a clean-up that fails is said, also that the supervisor has stopped over it (all was silent)', async () => {
    const errors = untimed((await run('clean-up fails')).said).filter((line) => line.startsWith('error'));
    expect(errors).toEqual([
      expect.stringContaining('the clean-up hook failed at attempt 1: the cache is locked'),
      expect.stringContaining(
        'the clean-up hook failed once with: the cache is locked; the clean-up is outstanding, so the supervisor has stopped: clean up by hand',
      ),
    ]);
  });

  it.each(['no server', 'no server for an observer'])(
    '%s is said, and why (all was silent)',
    async (scenario) => {
      const { said, stderr } = await run(scenario);
      const [line] = untimed(said);
      expect(line).toMatch(/^error conclave: .*no server accepted the session.*ECONNREFUSED 127\.0\.0\.1:1/);
      expect(stderr).not.toContain('secret-word');
      expect(said.length).toBeLessThan(3);
    },
  );

  it('what concerns the whole process is said once, however many sessions there are', async () => {
    const { said } = await run('open to all');
    expect(untimed(said)).toEqual([
      expect.stringMatching(/^warn conclave: any client that can reach the servers/),
    ]);
  });

  it('goes on when stderr has been closed', async () => {
    const child = execaNode(FIXTURE, ['stderr is closed'], {
      env: { CONCLAVE_LOG_LEVEL: undefined },
      ipc: false,
      reject: false,
      timeout: 20_000,
    });
    child.stdout.once('data', () => {
      child.stderr.destroy();
      child.stdin.write('begin');
      setTimeout(() => child.stdin.end(), 500); // Long enough for a report that the server is missing.
    });
    const { exitCode, stdout } = await child;
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'ready\ndone' });
  });
});

describe('an output that takes nothing', () => {
  /**
   * Starts a process that logs to `output`, its standard error. `fail` makes it log one error, and resolves when it has.
   */
  async function start(output: number, level?: string, session: SessionOptions = {}) {
    const child = fork(FAILING, [JSON.stringify(session)], {
      env: { ...process.env, CONCLAVE_LOG_LEVEL: level },
      stdio: ['ignore', 'ignore', output, 'ipc'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = nextEvent<[number | null]>(child, 'exit').then(([code]) => code);
    await nextEvent(child, 'message');
    const fail = async () => {
      const answer = nextEvent(child, 'message');
      child.send('fail');
      await within(
        10_000,
        Promise.race([answer, ended.then(() => expect.fail('it has ended'))]),
        'no answer',
      );
    };
    return { child, ended, fail };
  }

  describe.each([
    ['without a level', undefined],
    ['with a level', 'error'],
  ] as const)('%s', (_, level) => {
    const aboveThread = { maxStallMs: 60_000 };
    it.each([
      ['on a full device', 'on a full device', {}],
      ['a closed pipe', 'a closed pipe', {}],
      ['a closed pipe, in which the output of its thread ends', 'a closed pipe', aboveThread],
    ] as const)(
      'loses what is logged, and nothing else, if it is %s (the process ended at its first or second line, or hung at its end)',
      async (_, name, session) => {
        const { descriptor } = BROKEN_OUTPUTS[name]();
        const { child, ended, fail } = await start(descriptor, level, session);
        for (let count = 0; count < 3; count++) await fail();
        child.disconnect();
        expect(await within(10_000, ended, 'it has not ended')).toBe(0);
      },
    );

    it('loses it too if it is a terminal that is gone', async () => {
      const { descriptor, lose } = await BROKEN_OUTPUTS['a terminal that is gone']();
      const { fail } = await start(descriptor, level);
      await fail();
      await lose();
      for (let count = 0; count < 3; count++) await fail();
    });

    it('says once how many lines are lost when it works again', async () => {
      const { descriptor, openReader, closeWriter } = pipeWithoutReader();
      const { child, fail } = await start(descriptor, level);
      for (let count = 0; count < 3; count++) await fail();
      const reader = openReader();
      await once(reader, 'open');
      await fail();
      await fail();
      child.disconnect();
      closeWriter(); // The process has the other one: the text ends with it.
      const said = lines(await text(reader)).filter((line) => !line.startsWith('    '));
      const note = expect.stringMatching(/^(?=.*lines before this one are lost).*lost"?[=:]3\b/);
      const error = expect.stringContaining('on purpose');
      expect(said).toEqual([error, note, error]);
    });
  });
});

describe('with a listener, or a level', () => {
  it('what a listener of error hears is not said on stderr too, and warnings are', async () => {
    const { heard, said } = await run('lead throws', 'heard');
    expect(heard).toEqual(['heard LEAD_FAILED', 'heard LEAD_FAILED', 'done']);
    expect(untimed(said)).toEqual([expect.stringMatching(/^warn /)]);
    expect(await run('no server', 'heard')).toMatchObject({ heard: ['heard NO_SERVER', 'done'], said: [] });
  });

  it('a level moved the lines from stderr to stdout', async () => {
    const { heard, said } = await run('lead throws', undefined, 'error');
    expect(heard).toEqual(['done']);
    const [first = '{}'] = said;
    expect(JSON.parse(first)).toMatchObject({ name: 'conclave', err: { message: expect.any(String) } });
    expect(first.match(/"pid":/g)).toHaveLength(1);
  });

  it('CONCLAVE_LOG_LEVEL=silent logs nothing', async () => {
    expect(await run('lead throws', undefined, 'silent')).toMatchObject({ heard: ['done'], said: [] });
  });
});

describe('a start() that is rejected', () => {
  it.each([
    ['of a supervisor', 'no start', 'ConnectTimeoutError'],
    ['of an elector', 'no start of an elector', 'ZooKeeperError'],
    ['of an observer', 'no start of an observer', 'ZooKeeperError'],
  ])(
    '%s is an unhandled rejection if no code handles it (the process exited with 0)',
    async (_, scenario, error) => {
      const { stderr, heard, exitCode } = await run(scenario, undefined, 'silent');
      expect(stderr).toContain(error);
      expect(heard).toEqual([]);
      expect(exitCode).toBe(1);
    },
  );

  it('because it was stopped is none: the caller of stop knows', async () => {
    const result = await run('stopped before it had a place', undefined, 'silent');
    expect(result).toMatchObject({ heard: ['done'], stderr: '', exitCode: 0 });
  });
});

import { join } from 'node:path';
import { execaNode } from 'execa';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { lifeOfAnElection, WHOLE_LIFE } from '../support/conclave/life-of-an-election.mjs';

// Vitest's fake timers are Sinon's (@sinonjs/fake-timers), and so are Jest's.
const MOST = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
  'queueMicrotask',
  'Date',
  'performance',
  'hrtime',
] as const;

describe('under the fake timers of a test runner an election elects, hands over, recovers and stops', () => {
  afterEach(() => void vi.useRealTimers());

  describe.each([
    ['by the clock of the machine', false],
    ['by a TestClock', true],
  ])('%s', (_, stepped) => {
    it('with those that vitest installs by default', async () => {
      vi.useFakeTimers();
      expect(await lifeOfAnElection({ stepped })).toEqual(WHOLE_LIFE);
    });

    it('with all but nextTick', async () => {
      vi.useFakeTimers({ toFake: [...MOST], now: 0 });
      expect(await lifeOfAnElection({ stepped })).toEqual(WHOLE_LIFE);
    });
  });

  it('with those of node:test', async () => {
    const file = join(import.meta.dirname, '../fixtures/mocked-timers.test.mjs');
    const options = { nodeOptions: ['--test'], all: true, reject: false, timeout: 30_000 } as const;
    const { all, exitCode } = await execaNode(file, options);
    expect(exitCode, all).toBe(0);
  });
});

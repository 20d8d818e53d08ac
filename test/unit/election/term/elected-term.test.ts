import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ElectedTerm } from '../../../../src/election/term/elected-term.js';
import type { Term } from '../../../../src/election/term/term.js';
import type { Logger } from '../../../../src/platform/logging/logger.js';

let callLead: typeof import('../../../../src/election/term/elected-term.js').callLead;

// The module checks 100 functions in the life of a process. Other test files in this process have led terms, too.
beforeEach(async () => {
  vi.resetModules();
  ({ callLead } = await import('../../../../src/election/term/elected-term.js'));
});

/** Calls `work` for this many terms, and returns the terms with a warning. */
async function lead(work: (term: Term) => unknown, terms = 1): Promise<unknown[]> {
  const warnings: unknown[] = [];
  const logger = {
    warn: (details: { term: number }) => void warnings.push(details.term),
  } as unknown as Logger;
  for (let number = 1; number <= terms; number++) {
    const own = {
      number,
      workCount: 1,
      endedFor: undefined as string | undefined,
      waitUntil() {
        own.workCount++;
      },
      end() {
        own.endedFor = 'stopped';
      },
    };
    await Promise.resolve(); // An elector's work begins in a microtask, too.
    await callLead(work, own as unknown as ElectedTerm, logger).catch(() => undefined);
  }
  return warnings;
}

async function loop(): Promise<void> {
  for (let round = 0; round < 3; round++) await sleep(5);
}

describe('a lead that returns at once', () => {
  it.each<[string, (term: Term) => unknown]>([
    ['an async function that forgets to await', async () => void loop()],
    ['a function that forgets to return its promise', () => void loop()],
    ['a function that sets a timer', () => void setTimeout(() => undefined, 20)],
  ])('and leaves its work behind is warned about once: %s', async (_, work) => {
    expect(await lead(work, 3)).toEqual([1]);
  });

  it.each<[string, (term: Term) => unknown]>([
    ['has nothing left to do', () => undefined],
    ['has nothing left to do, by a promise', async () => undefined],
    ['awaits its work', async () => await loop()],
    ['returns the promise of its work', () => loop()],
    ['waits for a millisecond', () => sleep(1)],
    [
      'awaits its work, and leaves a timer that keeps no process',
      async () => void setTimeout(() => 1, 20).unref(),
    ],
    ['fails', () => Promise.reject(new Error('at once'))],
    [
      'throws',
      () => {
        throw new Error('at once');
      },
    ],
    ['counts its work', (term) => term.waitUntil(loop())],
    [
      'ends the term',
      (term) => {
        (term as unknown as { end(): void }).end();
        void sleep(5);
      },
    ],
  ])('is not warned about if it %s', async (_, work) => {
    expect(await lead(work, 3)).toEqual([]);
  });

  it('is not warned about for what others begin meanwhile', async () => {
    const work = async () => {
      await Promise.resolve();
    };
    const others = async () => {
      for (let round = 0; round < 10; round++) {
        await Promise.resolve();
        void sleep(5);
      }
    };
    const [warnings] = await Promise.all([lead(work, 5), others()]);
    expect(warnings).toEqual([]);
  });

  it('was looked for in every term, which took 1 ms beside 20,000 timers: it is in the first one of a function', async () => {
    const list = vi.spyOn(process, 'getActiveResourcesInfo');
    onTestFinished(() => list.mockRestore());
    await lead(() => undefined, 50);
    expect(list.mock.calls.length).toBeLessThanOrEqual(2);
  });

  it('was looked for in each of thousands of elections: it is in the first hundred of a process', async () => {
    const list = vi.spyOn(process, 'getActiveResourcesInfo');
    onTestFinished(() => list.mockRestore());
    for (let election = 0; election < 300; election++) await lead(() => undefined);
    expect(list.mock.calls.length).toBeLessThanOrEqual(200);
  });
});

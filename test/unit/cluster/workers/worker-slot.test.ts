import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { type SlotPort, WorkerSlot } from '../../../../src/cluster/workers/worker-slot.js';
import { TestClock } from '../../../../src/testing/index.js';

/** A worker's process that ends when the test says so. */
class FakeWorker extends EventEmitter {
  readonly pid: number;
  readonly signals: (string | undefined)[] = [];

  constructor(pid: number) {
    super();
    this.pid = pid;
  }

  kill(signal?: string): boolean {
    this.signals.push(signal);
    return true;
  }

  end(code: number): void {
    this.emit('exit', code, null);
  }
}

const RESTART = { retries: 2, minTimeout: 100, maxTimeout: 400 } as const;

/** A slot, the workers that it has started, and all that it has reported, in order. */
function slotWith(listeners: Partial<Pick<SlotPort, 'fork' | 'onSpawned' | 'onExited' | 'onError'>> = {}) {
  const clock = new TestClock();
  const workers: FakeWorker[] = [];
  const reports: string[] = [];
  const slot: WorkerSlot = new WorkerSlot(0, {
    environment: { ...clock.environment, random: () => 0 },
    restart: RESTART,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 1000,
    fork: () => {
      const worker = new FakeWorker(workers.length + 1);
      workers.push(worker);
      return worker as unknown as ChildProcess;
    },
    onRestarting: (_, attempt, delayMs) => reports.push(`restarting ${attempt} in ${delayMs}`),
    ...listeners,
    onSpawned: (number, child) => {
      reports.push(`spawned ${child.pid}`);
      listeners.onSpawned?.(number, child);
    },
    onExited: (exit) => {
      reports.push(`exited ${exit.pid} ${exit.code} ${exit.expected ? 'as asked' : 'by itself'}`);
      listeners.onExited?.(exit);
    },
    onError: (error) => {
      reports.push(error.message);
      listeners.onError?.(error);
    },
  });
  return { clock, workers, reports, slot };
}

describe('a slot', () => {
  it('starts another worker after a pause when one has ended by itself, and gives up in the end', async () => {
    const { clock, workers, reports, slot } = slotWith();
    slot.start();
    for (const pauseMs of [100, 200]) {
      workers.at(-1)?.end(3);
      await clock.advance(pauseMs - 1);
      expect(slot.child).toBeUndefined();
      await clock.advance(1);
      expect(slot.child).toBe(workers.at(-1));
    }
    workers.at(-1)?.end(3);
    expect(reports).toEqual([
      ...['spawned 1', 'exited 1 3 by itself', 'restarting 1 in 100'],
      ...['spawned 2', 'exited 2 3 by itself', 'restarting 2 in 200'],
      ...['spawned 3', 'exited 3 3 by itself'],
      'worker 0 has failed 3 times in a row, and is not restarted: it ended with code 3',
    ]);
    await clock.advance(10_000);
    expect(workers).toHaveLength(3);
  });

  it('asks its worker to end, kills it if it does not, and starts another one if there is to be one', async () => {
    const { clock, workers, reports, slot } = slotWith();
    slot.start();
    const ending = slot.end(true);
    await clock.advance(1000);
    expect(workers[0]?.signals).toEqual(['SIGTERM', 'SIGKILL']);
    workers[0]?.end(0);
    await ending;
    expect(slot.child).toBe(workers[1]);
    expect(reports).toEqual([
      'spawned 1',
      'worker 0 (pid 1) had not ended 1000 ms after SIGTERM: it was killed',
      ...['exited 1 0 as asked', 'spawned 2'],
    ]);
  });

  it('starts no other worker when a listener of its end wants none', async () => {
    let ending: Promise<void> | undefined;
    const { clock, workers, reports, slot } = slotWith({
      onExited: () => {
        ending = slot.end(false);
      },
    });
    slot.start();
    workers[0]?.end(3);
    await ending;
    await clock.advance(10_000);
    expect(reports).toEqual(['spawned 1', 'exited 1 3 by itself']);
  });

  it('starts no other worker when a listener of its end wants none while another one was to follow', async () => {
    const { clock, workers, slot } = slotWith({ onExited: () => void slot.end(false) });
    slot.start();
    const ending = slot.end(true);
    workers[0]?.end(0);
    await ending;
    await clock.advance(10_000);
    expect(workers).toHaveLength(1);
    expect(slot.child).toBeUndefined();
  });

  it('tells the end of two workers apart when a listener of the second start ends that worker', async () => {
    const ended: string[] = [];
    const { clock, workers, slot } = slotWith({
      onSpawned: (_, { pid }) => {
        if (pid === 2) void slot.end(false).then(() => ended.push('second'));
      },
    });
    slot.start();
    void slot.end(true).then(() => ended.push('first'));
    workers[0]?.end(0);
    await clock.advance(0);
    expect(ended).toEqual(['first']);
    workers[1]?.end(0);
    await clock.advance(0);
    expect(ended).toEqual(['first', 'second']);
  });

  it('starts no worker when a listener of a failed start wants none', async () => {
    let forks = 0;
    let ending: Promise<void> | undefined;
    const { clock, reports, slot } = slotWith({
      fork: () => {
        forks++;
        throw new Error('no more processes');
      },
      onError: () => {
        ending = slot.end(false);
      },
    });
    slot.start();
    await ending;
    await clock.advance(10_000);
    expect([forks, reports]).toEqual([1, ['no more processes']]);
  });
});

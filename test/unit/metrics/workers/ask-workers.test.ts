import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Snapshot } from '../../../../src/metrics/model/series.js';
import { askWorkers } from '../../../../src/metrics/workers/ask-workers.js';
import { decodeRequest, encodeAnswer } from '../../../../src/metrics/workers/metrics-messages.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { settle } from '../../../support/waiting.mjs';

const SNAPSHOT: Snapshot = new Map([['conclave_leader', [{ labels: { id: 'one' }, value: 1 }]]]);

/** A worker that answers as the test tells it to. */
class Worker extends EventEmitter {
  connected = true;
  readonly requests: number[] = [];

  send(message: object): boolean {
    this.requests.push(decodeRequest(message) as number);
    return true;
  }

  answer(request = this.requests.at(-1) as number): void {
    this.emit('message', encodeAnswer({ request, snapshot: SNAPSHOT }));
  }

  get waiting(): number {
    return this.listenerCount('message') + this.listenerCount('disconnect');
  }
}

const asked = (...workers: Worker[]) => workers.map((child, slot) => ({ slot, child }));

describe('a parent that asks its workers', () => {
  it('has the answers of all as soon as the last has come', async () => {
    const clock = new TestClock();
    const [one, two] = [new Worker(), new Worker()];
    const answers = askWorkers(asked(one, two), clock, 1000);
    two.answer();
    one.emit('message', 'of the application');
    one.answer();
    expect(await answers).toEqual({
      answers: [
        { slot: 0, snapshot: SNAPSHOT },
        { slot: 1, snapshot: SNAPSHOT },
      ],
      unanswered: 0,
    });
    expect([one.waiting, two.waiting]).toEqual([0, 0]);
  });

  it('waits no longer than it may, and no longer for one that goes', async () => {
    const clock = new TestClock();
    const [silent, gone, away, well] = [new Worker(), new Worker(), new Worker(), new Worker()];
    away.connected = false;
    const answers = askWorkers(asked(silent, gone, away, well), clock, 1000);
    gone.emit('disconnect');
    well.answer();
    await settle();
    await clock.advance(1000);
    expect(await answers).toEqual({ answers: [{ slot: 3, snapshot: SNAPSHOT }], unanswered: 3 });
    expect(away.requests).toEqual([]);
    for (const worker of [silent, gone, away, well]) expect(worker.waiting).toBe(0);
  });

  it('takes no answer to an earlier question', async () => {
    const clock = new TestClock();
    const worker = new Worker();
    const first = askWorkers(asked(worker), clock, 1000);
    await clock.advance(1000);
    expect((await first).unanswered).toBe(1);
    const second = askWorkers(asked(worker), clock, 1000);
    worker.answer(worker.requests[0]);
    await settle();
    await clock.advance(1000);
    expect((await second).unanswered).toBe(1);
    expect(new Set(worker.requests).size).toBe(2);
  });
});

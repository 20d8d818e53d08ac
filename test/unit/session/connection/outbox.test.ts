import { describe, expect, it } from 'vitest';
import { OperationTimeoutError } from '../../../../src/errors.js';
import type { Connection } from '../../../../src/session/connection/connection.js';
import { Outbox } from '../../../../src/session/connection/outbox.js';
import type { ReplyReceiver } from '../../../../src/session/connection/reply.js';
import { existsRequest } from '../../../../src/session/protocol/requests.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { instantAt } from '../../../support/lease-instant.js';

const ANSWER = { value: undefined, zxid: 1n, sentAt: instantAt(0) };

/** Makes an outbox without a connection, and records the times at which it gives requests up. */
function setUp() {
  const clock = new TestClock();
  const outbox = new Outbox({ clock, random: () => 0.5 });
  const gaveUpAt: number[] = [];
  const ask = (timeoutMs: number) => {
    const asked = outbox.submit(existsRequest('/a'), timeoutMs);
    asked.catch((error: unknown) => {
      if (error instanceof OperationTimeoutError) gaveUpAt.push(clock.now());
    });
    return asked;
  };
  /** Connects the outbox, and returns the requests that it sends from now on, for the test to answer. */
  const connect = () => {
    const sent: ReplyReceiver<unknown>[] = [];
    const dispatch = (_: unknown, outcome: ReplyReceiver<unknown>) => void sent.push(outcome);
    outbox.open({ dispatch } as unknown as Connection);
    return sent;
  };
  return { clock, outbox, gaveUpAt, ask, connect };
}

describe('operations that the server does not answer', () => {
  it('are given up in time, each of them', async () => {
    const { clock, gaveUpAt, ask } = setUp();
    void ask(1000);
    await clock.advance(400);
    void ask(1000);
    await clock.advance(5000);
    expect(gaveUpAt).toEqual([1000, 1400]);
  });

  it('are given up in time though the timer of one that was answered, and had more time, still runs', async () => {
    const { clock, gaveUpAt, ask, connect } = setUp();
    const sent = connect();
    const answered = ask(9000);
    sent[0]?.resolve(ANSWER);
    await answered;
    void ask(1000);
    await clock.advance(10_000);
    expect(gaveUpAt).toEqual([1000]);
  });

  it('are not given up while their answer lies unread, because this process was stopped', async () => {
    const { clock, gaveUpAt, ask, connect } = setUp();
    const sent = connect();
    const answered = ask(1000);
    void ask(1000);
    clock.jump(1400);
    await clock.advance(0); // Due timers run before the process reads anything.
    sent[0]?.resolve(ANSWER);
    await expect(answered).resolves.toBeDefined();
    await clock.advance(5000);
    expect(gaveUpAt).toEqual([1800]);
  });

  it('leave no timer to run when the session is over', async () => {
    const { clock, outbox, ask } = setUp();
    const asked = ask(1000);
    await clock.advance(0);
    expect(clock.timerCount).toBe(1);
    outbox.end(new Error('the session is over'));
    await expect(asked).rejects.toThrow('the session is over');
    await expect(ask(1000)).rejects.toThrow('the session is over');
    expect(clock.timerCount).toBe(0);
  });

  it('leave nothing behind when the answer comes while they are written', async () => {
    const { clock, outbox } = setUp();
    const dispatch = (_: unknown, outcome: ReplyReceiver<unknown>) => outcome.resolve(ANSWER);
    outbox.open({ dispatch } as unknown as Connection);
    await outbox.submit(existsRequest('/a'), 1000);
    expect(clock.timerCount).toBe(0);
  });
});

import { EventEmitter } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeChildMessage,
  decodeGuardianMessage,
  encodeGuardianMessage,
} from '../../../../src/cluster/dead-children/guardian-messages.js';
import { GuardianLink } from '../../../../src/cluster/dead-children/register-with-guardian.js';
import {
  askWorkers,
  decodeAnswer,
  decodeRequest,
  encodeAnswer,
  encodeRequest,
  Responder,
} from '../../../../src/metrics/collectors/worker-metrics.js';
import { Measurements, type MetricsSnapshot } from '../../../../src/metrics/model/measurements.js';
import { ignore } from '../../../../src/platform/async/promises.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { settle } from '../../../support/waiting.mjs';

const SNAPSHOT: MetricsSnapshot = new Map([['conclave_leader', [{ labels: { id: 'one' }, value: 1 }]]]);

/** The end of a channel to another process. */
class Channel extends EventEmitter {
  connected = true;
  readonly sent: object[] = [];

  send(message: object): boolean {
    this.sent.push(message);
    return true;
  }
}

/** A worker that answers as the test tells it to. */
class Worker extends Channel {
  get requests(): number[] {
    return this.sent.map((message) => decodeRequest(message) as number);
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
    const answers = askWorkers(asked(one, two), clock);
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
    const answers = askWorkers(asked(silent, gone, away, well), clock);
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
    const first = askWorkers(asked(worker), clock);
    await clock.advance(1000);
    expect((await first).unanswered).toBe(1);
    const second = askWorkers(asked(worker), clock);
    worker.answer(worker.requests[0]);
    await settle();
    await clock.advance(1000);
    expect((await second).unanswered).toBe(1);
    expect(new Set(worker.requests).size).toBe(2);
  });
});

const ofOne = (id: string): { own(): Promise<MetricsSnapshot> } => ({
  own: async () => new Map([['conclave_leader', [{ labels: { election: '/a', id }, value: 1 }]]]),
});

describe('what tells a parent the metrics of its worker', () => {
  it('answers with all that is measured in the process, and to no other message', async () => {
    const channel = new Channel();
    const responder = new Responder(channel, () => ignore);
    responder.add(ofOne('one'));
    responder.add(ofOne('two'));
    for (const message of [
      'hello',
      { conclave: 1 },
      encodeGuardianMessage({ kind: 'attach', guardian: 'g1' }),
    ])
      channel.emit('message', message);
    await settle();
    expect(channel.sent).toEqual([]);
    channel.emit('message', encodeRequest(5));
    await settle();
    const answer = decodeAnswer(channel.sent[0]);
    expect(answer?.request).toBe(5);
    expect(answer?.snapshot.get('conclave_leader')).toHaveLength(2);
    expect(channel.sent).toHaveLength(1);
  });

  it('listens only while something is measured: a listener keeps the process alive', () => {
    const channel = new Channel();
    const responder = new Responder(channel, () => ignore);
    const [one, two] = [ofOne('one'), ofOne('two')];
    const listeners = () => channel.listenerCount('message');
    const counts = [listeners()];
    for (const step of [
      () => responder.add(one),
      () => responder.add(two),
      () => responder.remove(one),
      () => responder.remove(one),
      () => responder.remove(two),
    ]) {
      step();
      counts.push(listeners());
    }
    expect(counts).toEqual([0, 1, 1, 1, 1, 0]);
  });

  it('leaves no greeting of a guardian unheard that came before it listened', async () => {
    const channel = new Channel();
    const link = new GuardianLink(channel);
    const responder = new Responder(channel, () => link.listen());
    responder.add(ofOne('one'));
    channel.emit('message', encodeGuardianMessage({ kind: 'attach', guardian: 'g1' }));
    expect(link.isGuarded).toBe(true);
  });

  it('says nothing to a parent that is gone, and listens to none where there is none', async () => {
    const channel = new Channel();
    const responder = new Responder(channel, () => ignore);
    responder.add(ofOne('one'));
    channel.connected = false;
    channel.emit('message', encodeRequest(1));
    await settle();
    expect(channel.sent).toEqual([]);
    const alone = new EventEmitter();
    new Responder(Object.assign(alone, { connected: false }), () => ignore).add(ofOne('one'));
    expect(alone.listenerCount('message')).toBe(0);
  });
});

/** A message as it arrives at the other process. */
const sent = (message: object): unknown => JSON.parse(JSON.stringify(message));

function snapshot() {
  const measurements = new Measurements({ election: '/a', id: 'one' }, () => undefined);
  measurements.count('conclave_errors_total', { code: 'NO_SERVER' });
  measurements.observe('conclave_hook_duration_seconds', 0.5);
  return measurements.snapshot();
}

describe('the messages between a parent and its workers', () => {
  it('arrive as they were sent', () => {
    expect(decodeRequest(sent(encodeRequest(7)))).toBe(7);
    expect(decodeAnswer(sent(encodeAnswer({ request: 7, snapshot: snapshot() })))).toEqual({
      request: 7,
      snapshot: snapshot(),
    });
  });

  it('are taken for no others, neither by a guardian nor by a guarded process', () => {
    expect(decodeGuardianMessage(sent(encodeRequest(1)))).toBeUndefined();
    expect(decodeChildMessage(sent(encodeAnswer({ request: 1, snapshot: snapshot() })))).toBeUndefined();
    expect(decodeRequest(sent(encodeGuardianMessage({ kind: 'attach', guardian: 'g1' })))).toBeUndefined();
  });

  it('are not what an application may send, whatever that is', () => {
    fc.assert(
      fc.property(fc.anything(), (message) => {
        expect(decodeRequest(message)).toBeUndefined();
        expect(decodeAnswer(message)).toBeUndefined();
      }),
    );
  });

  it('lose what the parent does not know, or can not read, and nothing else', () => {
    const families = {
      conclave_leader: [
        { labels: { election: '/a', id: 'one' }, value: 1 },
        { labels: { election: '/a', id: 'two' }, value: 'many' },
        { labels: { color: 'red' }, value: 1 },
        { labels: { id: 3 }, value: 1 },
        'nonsense',
      ],
      conclave_hook_duration_seconds: [
        { labels: {}, value: { counts: [1], sum: 1 } },
        { labels: {}, value: 3 },
      ],
      conclave_of_a_later_version: [{ labels: {}, value: 1 }],
      conclave_term: 'nonsense',
    };
    const answer = decodeAnswer({ conclave: { format: 1, kind: 'metrics', request: 1, families } });
    expect([...(answer?.snapshot ?? [])]).toEqual([
      ['conclave_leader', [{ labels: { election: '/a', id: 'one' }, value: 1 }]],
    ]);
    expect(decodeAnswer({ conclave: { format: 2, kind: 'metrics', request: 1, families } })).toBeUndefined();
  });
});

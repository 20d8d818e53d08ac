import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { encodeGuardianMessage } from '../../../../src/cluster/dead-children/guardian-messages.js';
import type { Snapshot } from '../../../../src/metrics/model/series.js';
import { decodeAnswer, encodeRequest } from '../../../../src/metrics/workers/metrics-messages.js';
import { Responder } from '../../../../src/metrics/workers/responder.js';
import { settle } from '../../../support/waiting.mjs';

/** The end of a channel to a parent process. */
class Channel extends EventEmitter {
  connected = true;
  readonly sent: object[] = [];

  send(message: object): boolean {
    this.sent.push(message);
    return true;
  }
}

const ofOne = (id: string): { own(): Promise<Snapshot> } => ({
  own: async () => new Map([['conclave_leader', [{ labels: { election: '/a', id }, value: 1 }]]]),
});

describe('what tells a parent the metrics of its worker', () => {
  it('answers with all that is measured in the process, and to no other message', async () => {
    const channel = new Channel();
    const responder = new Responder(channel);
    responder.add(ofOne('one'));
    responder.add(ofOne('two'));
    for (const message of ['hello', { conclave: 1 }, encodeGuardianMessage('attach')])
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
    const responder = new Responder(channel);
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

  it('says nothing to a parent that is gone, and listens to none where there is none', async () => {
    const channel = new Channel();
    const responder = new Responder(channel);
    responder.add(ofOne('one'));
    channel.connected = false;
    channel.emit('message', encodeRequest(1));
    await settle();
    expect(channel.sent).toEqual([]);
    const alone = new EventEmitter();
    new Responder(Object.assign(alone, { connected: false })).add(ofOne('one'));
    expect(alone.listenerCount('message')).toBe(0);
  });
});

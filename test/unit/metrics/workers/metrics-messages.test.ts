import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeChildMessage,
  decodeGuardianMessage,
  encodeGuardianMessage,
} from '../../../../src/cluster/dead-children/guardian-messages.js';
import { Measurements } from '../../../../src/metrics/model/measurements.js';
import {
  decodeAnswer,
  decodeRequest,
  encodeAnswer,
  encodeRequest,
} from '../../../../src/metrics/workers/metrics-messages.js';

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
    expect(decodeRequest(sent(encodeGuardianMessage('attach')))).toBeUndefined();
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

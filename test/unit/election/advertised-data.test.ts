import { describe, expect, it } from 'vitest';
import { AdvertisedData } from '../../../src/election/advertised-data.js';
import { parseCandidate, serializeCandidate } from '../../../src/election/candidates/candidate.js';
import { parseRequest, withRequest } from '../../../src/election/requests/candidate-request.js';
import { BadVersionError, NodeLostError, NoNodeError, SessionClosedError } from '../../../src/errors.js';
import type { OwnNode } from '../../../src/lease/own-node.js';
import { type Abortable, LazyAbortController } from '../../../src/platform/async/lazy-abort-controller.js';
import { deferred } from '../../../src/platform/async/promises.js';
import { parseEntry, type QueueEntry } from '../../../src/queue/names-and-order.js';
import type { Session } from '../../../src/session/session.js';

const NODE = '_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000002';
const entry = parseEntry(NODE) as QueueEntry;

/** Makes a node to read and write, with hooks in which a test can act in between. */
function setUp(data = serializeCandidate('me', 'first')) {
  const node = { data, version: 0, writes: 0 };
  const between = { read: () => Promise.resolve(), write: () => Promise.resolve() };
  const signals: (Abortable | undefined)[] = [];
  const session = {
    retryUntilAnswered: <T>(operation: () => Promise<T>, signal?: Abortable) => {
      signals.push(signal);
      return operation();
    },
    getData: async () => {
      const read = { data: node.data, stat: { version: node.version } };
      await between.read();
      return read;
    },
    setData: async (_path: string, bytes: Buffer, version: number) => {
      await between.write();
      if (version !== node.version) throw new BadVersionError(-103, 'BAD_VERSION', 'setData');
      Object.assign(node, { data: bytes, version: version + 1, writes: node.writes + 1 });
    },
  };
  const lost = new LazyAbortController<Error>();
  const own = { path: `/election/${NODE}`, lost } as OwnNode;
  const advertisement = new AdvertisedData('me', 'first');
  const publish = (signal?: Abortable) => advertisement.publish(session as unknown as Session, own, signal);
  const advertised = () => parseCandidate(entry, 0, node.data).data;
  return { node, between, lost, signals, advertisement, publish, advertised };
}

describe('what a candidate advertises', () => {
  it('is not written again when its node was created with it', async () => {
    const { node, advertisement, publish } = setUp();
    expect(parseCandidate(entry, 0, advertisement.bytes()).data).toBe('first');
    advertisement.change('second');
    advertisement.created(advertisement.revision);
    await publish();
    expect(node.writes).toBe(0);
    expect(parseCandidate(entry, 0, advertisement.bytes()).data).toBe('second');
  });

  it('is written when it changes after its node was created', async () => {
    const { advertisement, publish, advertised } = setUp();
    advertisement.change('second');
    advertisement.created(advertisement.revision);
    advertisement.change('third');
    await publish();
    expect(advertised()).toBe('third');
  });

  it('is not tried any more when the node is lost, or the caller gives up', async () => {
    for (const end of ['lost', 'given up'] as const) {
      const { lost, between, signals, advertisement, publish } = setUp();
      const stop = new LazyAbortController();
      const reading = deferred();
      const reached = deferred();
      between.read = () => {
        reached.resolve();
        return reading.promise;
      };
      advertisement.change('second');
      const published = publish(stop);
      await reached.promise;
      expect(signals.map((signal) => signal?.aborted)).toEqual([false]);
      if (end === 'lost') lost.abort(new NodeLostError('deleted'));
      else stop.abort(new Error('given up'));
      expect(signals[0]?.aborted).toBe(true);
      reading.resolve();
      await published.catch(() => undefined);
    }
  });

  it('is written once, as it is then, however often it has changed', async () => {
    const { node, advertisement, publish, advertised } = setUp();
    const bytes = new Uint8Array([1]);
    advertisement.change('second');
    advertisement.change(bytes);
    bytes[0] = 2;
    await publish();
    await publish();
    expect(node.writes).toBe(1);
    expect(advertised()).toEqual(new Uint8Array([1]));
  });

  it('is written anew when it changes while it is written', async () => {
    const { node, between, advertisement, publish, advertised } = setUp();
    advertisement.change('second');
    const reading = deferred();
    const read = deferred();
    between.read = () => {
      reading.resolve();
      return read.promise;
    };
    const publishing = publish();
    await reading.promise;
    advertisement.change('third');
    const next = publish();
    read.resolve();
    await Promise.all([publishing, next]);
    expect(advertised()).toBe('third');
    expect(node.writes).toBeLessThanOrEqual(2);
  });

  it('takes no request to the candidate off the node, also between read and write', async () => {
    const { node, between, advertisement, publish, advertised } = setUp();
    const request = { kind: 'step-down', key: 'k', by: 'operator', graceMs: 5 } as const;
    advertisement.change('second');
    between.write = () => {
      between.write = () => Promise.resolve();
      Object.assign(node, { data: withRequest(node.data, request), version: node.version + 1 });
      return Promise.resolve();
    };
    await publish();
    expect(advertised()).toBe('second');
    expect(parseRequest(node.data)).toEqual(request);
  });

  it('is put where something else was written that is none', async () => {
    const { advertisement, publish, advertised } = setUp(Buffer.from('<html>'));
    advertisement.change('second');
    await publish();
    expect(advertised()).toBe('second');
  });

  it.each([new NoNodeError(-101, 'NO_NODE', 'getData'), new NodeLostError('deleted')])(
    'is left to the next node when this one is gone: %s',
    async (gone) => {
      const { between, advertisement, publish, advertised } = setUp();
      advertisement.change('second');
      between.read = () => Promise.reject(gone);
      await publish();
      between.read = () => Promise.resolve();
      await publish();
      expect(advertised()).toBe('second');
    },
  );

  it('is not published when a server refuses, and the caller gets the reason', async () => {
    const { between, advertisement, publish, advertised } = setUp();
    advertisement.change('second');
    const over = new SessionClosedError('over');
    between.write = () => Promise.reject(over);
    const [first, second] = [publish(), publish()];
    await expect(first).rejects.toBe(over);
    await expect(second).rejects.toBe(over);
    between.write = () => Promise.resolve();
    await publish(new AbortController().signal);
    expect(advertised()).toBe('second');
  });

  it('is waited for no longer than the signal allows, also for the turn of another', async () => {
    const { between, advertisement, publish } = setUp();
    advertisement.change('second');
    const never = deferred();
    between.read = () => never.promise;
    const first = publish();
    const reason = new Error('enough');
    const stop = new AbortController();
    const second = publish(stop.signal);
    stop.abort(reason);
    await expect(second).rejects.toBe(reason);
    never.resolve();
    await first;
  });
});

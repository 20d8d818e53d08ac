import { EventEmitter } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { ElectionSupervisor } from '../../../../src/cluster/supervisor/election-supervisor.js';
import { InvalidOptionError } from '../../../../src/errors.js';
import { type EventSource, nextEvent, recordEvents, until } from '../../../../src/testing/index.js';

describe('the next event', () => {
  it('is the first after the call, with its arguments, and leaves no listener', async () => {
    const source = new EventEmitter();
    source.emit('demoted', 'too early');
    const demoted = nextEvent<[string, number]>(source, 'demoted');
    source.emit('elected', 'another event');
    source.emit('demoted', 'term', 1);
    source.emit('demoted', 'term', 2);
    expect(await demoted).toEqual(['term', 1]);
    expect(source.listenerCount('demoted')).toBe(0);
  });

  it('fails after the timeout, by name, and leaves no listener', async () => {
    const source = new EventEmitter();
    await expect(nextEvent(source, 'elected', { timeoutMs: 5 })).rejects.toThrow(
      "the event 'elected' did not come within 5 ms",
    );
    await expect(nextEvent(source, 'elected', { timeoutMs: 5, what: 'a leader' })).rejects.toThrow(
      'a leader did not come within 5 ms',
    );
    expect(source.listenerCount('elected')).toBe(0);
  });

  it.each<[unknown, object | null, string]>([
    [undefined, {}, 'source'],
    [{}, {}, 'source'],
    [new EventEmitter(), null, 'options'],
    [new EventEmitter(), { timeoutMs: 0 }, 'timeoutMs'],
    [new EventEmitter(), { timeout: 5 }, 'options.timeout'],
    [new EventEmitter(), { what: 5 }, 'what'],
  ])('refuses %o with %j, and names %s', (source, options, option) => {
    const wait = () => nextEvent(source as EventSource, 'elected', options as object);
    expect(wait).toThrow(InvalidOptionError);
    expect(wait).toThrow(option);
  });

  it('is refused at once if the source has none of that name, and leaves no timer (which threw ten seconds later)', async () => {
    const supervisor = new ElectionSupervisor({ connect: '127.0.0.1:1', path: '/app/election' });
    const off = vi.spyOn(supervisor, 'off');
    const wait = () => nextEvent(supervisor as EventSource, 'elceted', { timeoutMs: 1 });
    expect(wait).toThrow(InvalidOptionError);
    expect(wait).toThrow('event is "elceted": expected one of');
    const later = nextEvent(new EventEmitter(), 'elected', { timeoutMs: 20 });
    await expect(later).rejects.toThrow('did not come');
    expect(off).not.toHaveBeenCalled();
  });
});

describe('until', () => {
  it('resolves with the first value of the condition that is not falsy', async () => {
    const values = [undefined, 0, '', 'there'];
    expect(await until(() => values.shift())).toBe('there');
    expect(await until(async () => 7)).toBe(7);
  });

  it('fails after the timeout, and names what did not come', async () => {
    let asked = 0;
    const waiting = until(() => ++asked < 0, { timeoutMs: 20, what: 'a leader' });
    await expect(waiting).rejects.toThrow('a leader did not come within 20 ms');
    expect(asked).toBeGreaterThan(1);
  });

  it('ends with what the condition throws', async () => {
    await expect(
      until(() => {
        throw new Error('no such node');
      }),
    ).rejects.toThrow('no such node');
  });

  it('refuses a value that is no function', async () => {
    await expect(until(undefined as unknown as () => boolean)).rejects.toThrow(InvalidOptionError);
    await expect(until('now' as unknown as () => boolean)).rejects.toThrow('condition');
  });
});

it('recorded events are the names, in the order in which they came', () => {
  const source = new EventEmitter();
  const seen = recordEvents(source, 'demoted', 'expired');
  for (const event of ['expired', 'elected', 'demoted', 'expired']) source.emit(event);
  expect(seen).toEqual(['expired', 'demoted', 'expired']);
  expect(() => recordEvents(undefined as unknown as EventSource, 'expired')).toThrow(InvalidOptionError);
});

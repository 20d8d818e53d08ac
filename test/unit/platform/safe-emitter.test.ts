import { describe, expect, it } from 'vitest';
import { InvalidOptionError, type ListenerError } from '../../../src/errors.js';
import { SafeEmitter } from '../../../src/platform/safe-emitter.js';
import { settle } from '../../support/waiting.mjs';

class Bell extends SafeEmitter<{ ring(times: number): void; crack(): void }> {
  readonly reported: ListenerError[] = [];

  ring(times: number): void {
    this.emit('ring', times);
  }

  swing(): void {
    this.note('swing', 1, 2);
  }

  protected override get knownEvents() {
    return { ring: true, crack: false };
  }

  protected override reportListenerError(error: ListenerError): void {
    this.reported.push(error);
  }
}

describe('an emitter', () => {
  it('calls the other listeners when one throws, and reports it with what it threw', () => {
    const bell = new Bell();
    const heard: number[] = [];
    const cause = new Error('deaf');
    bell.on('ring', () => {
      throw cause;
    });
    bell.on('ring', (times) => void heard.push(times));
    bell.ring(3);
    expect(heard).toEqual([3]);
    expect(bell.reported).toMatchObject([{ code: 'LISTENER_FAILED', event: 'ring', cause }]);
  });

  it('reports a listener whose promise rejects', async () => {
    const bell = new Bell();
    bell.on('ring', async () => {
      throw new Error('late');
    });
    bell.ring(1);
    await settle();
    expect(bell.reported).toHaveLength(1);
  });

  it('makes the deliveries that a listener sets off after the one that it is called for', () => {
    const bell = new Bell();
    const heard: string[] = [];
    bell.on('ring', (times) => {
      if (times > 0) bell.ring(times - 1);
    });
    bell.on('ring', (times) => void heard.push(`${times}`));
    bell.ring(3);
    expect(heard).toEqual(['3', '2', '1', '0']);
  });

  it.each([
    ['a message that is a symbol', () => Object.assign(new Error(), { message: Symbol('odd') })],
    [
      'a message that throws',
      () =>
        Object.defineProperty(new Error(), 'message', {
          get: () => {
            throw new Error('no');
          },
        }),
    ],
    ['undefined', () => undefined],
  ])('goes on after a listener that throws an error with %s', (_, thrown) => {
    const bell = new Bell();
    let heard = 0;
    bell.on('ring', () => {
      throw thrown();
    });
    bell.on('ring', () => void heard++);
    bell.ring(1);
    bell.ring(1);
    expect(heard).toBe(2);
    expect(bell.reported).toHaveLength(2);
  });

  it.each([
    ['rang', 'event is "rang": expected one of \'ring\''],
    ['toString', 'event is "toString": expected one of \'ring\''],
    ['', 'event is "": expected one of \'ring\''],
    [undefined, "event is undefined: expected one of 'ring'"],
    [Symbol('ring'), "event is Symbol(ring): expected one of 'ring'"],
  ])('refuses the event %j, which it never emits, naming those that it does', (event, message) => {
    const bell = new Bell();
    const call = (method: unknown) => () =>
      (method as (...args: unknown[]) => unknown).call(bell, event, () => undefined);
    const methods: unknown[] = [
      bell.on,
      bell.once,
      bell.off,
      bell.addListener,
      bell.removeListener,
      bell.listenerCount,
    ];
    // Without a name it removes all listeners.
    if (event !== undefined) methods.push(bell.removeAllListeners);
    for (const method of methods) {
      expect(call(method)).toThrow(InvalidOptionError);
      expect(call(method)).toThrow(message);
    }
  });

  it('has events for itself, which it does not speak of', () => {
    expect(new Bell().on('crack', () => undefined).listenerCount('crack')).toBe(1);
  });

  it.each([undefined, null, 'a string', {}])('refuses %j for a listener', (listener) => {
    const bell = new Bell();
    for (const method of [bell.on, bell.once, bell.off, bell.addListener, bell.removeListener]) {
      const call = () => method.call(bell, 'ring', listener as never);
      expect(call).toThrow(InvalidOptionError);
      expect(call).toThrow(/^the listener of 'ring' is .*: expected a function$/);
    }
    bell.ring(1);
    expect(bell.reported).toEqual([]);
  });

  it('takes off all listeners, of one event or of every one', () => {
    const bell = new Bell();
    bell.on('ring', () => undefined).on('crack', () => undefined);
    expect(bell.removeAllListeners('ring').listenerCount('ring')).toBe(0);
    expect(bell.listenerCount('crack')).toBe(1);
    expect(bell.removeAllListeners().listenerCount('crack')).toBe(0);
  });

  it('takes off what was added, whether for ever or for once', () => {
    const bell = new Bell();
    const heard: string[] = [];
    const always = () => void heard.push('always');
    const once = () => void heard.push('once');
    bell.on('ring', always).once('ring', once);
    bell.ring(1);
    bell.ring(1);
    expect(heard).toEqual(['always', 'once', 'always']);
    bell.once('ring', once).off('ring', once).off('ring', always);
    expect(bell.listenerCount('ring')).toBe(0);
  });
});

describe('a tap', () => {
  it('hears each event before the listeners, and what is noted, and is no listener', () => {
    const bell = new Bell();
    const heard: unknown[] = [];
    bell.on('ring', () => void heard.push('listener'));
    const untap = bell.tap((event, ...args) => void heard.push([event, ...args]));
    bell.ring(2);
    bell.swing();
    expect(heard).toEqual([['ring', 2], 'listener', ['swing', 1, 2]]);
    expect([bell.listenerCount('ring'), bell.isTapped]).toEqual([1, true]);
    untap();
    untap();
    bell.ring(3);
    expect([heard.length, bell.isTapped]).toEqual([4, false]);
  });

  it('that throws disturbs neither the listeners nor another tap, and is reported by no event', () => {
    const bell = new Bell();
    const heard: unknown[] = [];
    bell.tap(() => {
      throw new Error('deaf');
    });
    const untap = bell.tap((event) => void heard.push(event));
    bell.on('ring', (times) => void heard.push(times));
    bell.ring(2);
    expect(heard).toEqual(['ring', 2]);
    expect(bell.reported).toEqual([]);
    untap();
    expect(bell.isTapped).toBe(true);
  });
});

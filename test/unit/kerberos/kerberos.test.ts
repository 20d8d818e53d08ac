import { describe, expect, it } from 'vitest';
import { AuthenticationError, InvalidOptionError } from '../../../src/errors.js';
import { type KerberosOptions, kerberos } from '../../../src/kerberos/index.js';
import type { SaslExchange } from '../../../src/session/sasl/sasl-mechanism.js';
import { FakeKerberos } from './fake-module.js';

const SERVER = { host: 'zk1.example.com', port: 2181 };

const answer = async (exchange: SaslExchange, token: string | null) =>
  exchange.step(token === null ? null : Buffer.from(token));

/** An exchange, after the given tokens of the server. */
async function exchangeAfter(module: FakeKerberos, ...tokens: readonly string[]) {
  const exchange = await kerberos(module).begin(SERVER);
  await exchange.step(undefined);
  for (const token of tokens) await answer(exchange, token);
  return exchange;
}

describe('an exchange by GSSAPI', () => {
  it('sends the ticket, then nothing, then the choice of no security layer, and ends without a token', async () => {
    const module = new FakeKerberos();
    const exchange = await kerberos(module).begin(SERVER);
    expect(module.calls).toEqual([]);
    expect(await exchange.step(undefined)).toEqual(Buffer.from('ticket'));
    expect(await answer(exchange, 'proof')).toEqual(Buffer.alloc(0));
    expect(await answer(exchange, 'offer')).toEqual(Buffer.from('choice'));
    expect(await answer(exchange, null)).toBeUndefined();
    expect(module.calls).toEqual([
      'initializeClient zookeeper@zk1.example.com',
      'step',
      'step proof',
      'unwrap offer',
      'wrap 01000000',
    ]);
    await expect(answer(exchange, null)).rejects.toThrow('the SASL exchange is over');
  });

  it('fails, and is not refused, if Kerberos gives no ticket: the message names the principal and the reason', async () => {
    const module = new FakeKerberos();
    const why =
      'Unspecified GSS failure.  Minor code may provide more information: No Kerberos credentials available';
    module.askKdc = () => Promise.reject(new Error(why));
    const error = await exchangeAfter(module).catch((reason: unknown) => reason);
    expect(error).not.toBeInstanceOf(AuthenticationError);
    expect((error as Error).message).toBe(
      'Kerberos gives no ticket for zookeeper/zk1.example.com: No Kerberos credentials available',
    );
  });

  it.each([
    ['refuses no answer to the ticket', [], null, 'answered nothing to a ticket'],
    [
      'refuses a forged proof',
      [],
      'forged',
      "a server's proof by Kerberos can't be used: A token had an invalid",
    ],
    ['refuses no offer', ['proof'], null, 'before it has offered a security layer'],
    [
      'refuses a forged offer',
      ['proof'],
      'forged',
      "a server's offer by Kerberos can't be used: A token was invalid",
    ],
    ['refuses a token after the end', ['proof', 'offer'], 'more', 'after the end of GSSAPI'],
  ])('%s', async (_, before, token, message) => {
    const exchange = await exchangeAfter(new FakeKerberos(), ...before);
    const refused = answer(exchange, token);
    await expect(refused).rejects.toBeInstanceOf(AuthenticationError);
    await expect(refused).rejects.toThrow(message);
    await expect(answer(exchange, null)).rejects.toThrow('the SASL exchange is over');
  });

  it('refuses a server that has not proven itself', async () => {
    const module = new FakeKerberos();
    module.isProven = false;
    const exchange = await exchangeAfter(module);
    await expect(answer(exchange, 'proof')).rejects.toThrow('has not proven by Kerberos');
  });

  it('refuses a server that demands a security layer', async () => {
    const module = new FakeKerberos();
    module.offer = Buffer.from([6, 0, 1, 0]);
    const exchange = await exchangeAfter(module, 'proof');
    await expect(answer(exchange, 'offer')).rejects.toBeInstanceOf(AuthenticationError);
    expect(module.calls.some((call) => call.startsWith('wrap'))).toBe(false);
  });

  it('says of a server that refuses it what to check, and asks for no password', async () => {
    const { advice } = await kerberos(new FakeKerberos(), { service: 'zk' }).begin(SERVER);
    for (const word of ['Kerberos ticket for zk/zk1.example.com', 'principal', 'keytab', 'authProvider.sasl'])
      expect(advice).toContain(word);
    expect(advice).not.toMatch(/password|user/);
  });

  it('asks the KDC once at a time in the process, while the steps after that wait for no other', async () => {
    const module = new FakeKerberos();
    const first = await exchangeAfter(module);
    let answerOfKdc: () => void = () => undefined;
    const isAsked = new Promise<void>((asked) => {
      module.askKdc = () => {
        asked();
        return new Promise<void>((resolve) => {
          answerOfKdc = resolve;
        });
      };
    });
    const second = (await kerberos(module).begin(SERVER)).step(undefined);
    await isAsked;
    const asked = module.calls.length;
    const third = (await kerberos(new FakeKerberos()).begin(SERVER)).step(undefined);
    const fourth = (await kerberos(module).begin(SERVER)).step(undefined);
    expect(await answer(first, 'proof')).toEqual(Buffer.alloc(0));
    expect(module.calls.slice(asked)).toEqual(['step proof']);
    module.askKdc = async () => undefined;
    answerOfKdc();
    expect(await Promise.all([second, third, fourth])).toEqual(Array(3).fill(Buffer.from('ticket')));
  });
});

describe('the principal of a server', () => {
  const principalWith = async (options: KerberosOptions, host = SERVER.host) => {
    const module = new FakeKerberos();
    await (await kerberos(module, options).begin({ host, port: 2181 })).step(undefined);
    return module.calls[0];
  };

  it('has the service and the host that the options say', async () => {
    const hostOf = ({ host, port }: { host: string; port: number }) => `of-${host}-${port}`;
    expect(await principalWith({ service: 'zk', hostOf }, '10.0.0.1')).toBe(
      'initializeClient zk@of-10.0.0.1-2181',
    );
  });

  it('is not known for an address, and the error says what to do', async () => {
    for (const host of ['127.0.0.1', '::1']) {
      const wrong = principalWith({}, host);
      await expect(wrong).rejects.toBeInstanceOf(InvalidOptionError);
      await expect(wrong).rejects.toThrow(
        `a server in the connect string is "${host}": expected the name of its host, because Kerberos knows servers by name: write it so, or give kerberos() the option hostOf`,
      );
    }
  });

  it.each(['', 'a/b', 'a@B', '10.0.0.1', undefined])(
    'is not taken from a hostOf that gives %j',
    async (host) => {
      await expect(principalWith({ hostOf: () => host as string })).rejects.toThrow('hostOf() is');
    },
  );
});

describe('wrong options', () => {
  it.each([
    [{}, {}, 'module is'],
    [undefined, {}, 'module is undefined: expected the npm package kerberos'],
    [new FakeKerberos(), { hostOf: 'zk1' }, 'hostOf is "zk1": expected a function'],
    [new FakeKerberos(), { service: 'zookeeper/zk1' }, 'service is "zookeeper/zk1"'],
    [new FakeKerberos(), { service: '' }, 'service is ""'],
    [new FakeKerberos(), { Service: 'zk' }, 'kerberos.Service'],
    [new FakeKerberos(), 'zookeeper', 'kerberos is'],
  ])('are refused by name: %#', (module, options, message) => {
    const make = () => kerberos(module as never, options as never);
    expect(make).toThrow(InvalidOptionError);
    expect(make).toThrow(message);
  });
});

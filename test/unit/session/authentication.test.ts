import { describe, expect, it } from 'vitest';
import { ignore } from '../../../src/platform/async/promises.js';
import { authenticate, type ShownCredentials } from '../../../src/session/authentication.js';
import type { SaslMechanism } from '../../../src/session/sasl/sasl-mechanism.js';
import { settle } from '../../support/waiting.mjs';

const digest = (user: string) => ({ scheme: 'digest', credentials: `${user}:pw` });

/** A connection on which nothing is answered before `answer` is called. It notes what it is asked. */
function connect(host = 'zk1') {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const ask = <T>(what: string, value: T) => {
    asked.push(what);
    return new Promise<T>((resolve) => answers.push(() => resolve(value)));
  };
  const reply = (value: unknown) => ({ value, zxid: 7n });
  const connection = {
    server: { host, port: 2181 },
    authenticate: ({ credentials }: { credentials: string }) => ask(credentials, undefined),
    whileOpen: async (task: () => unknown) => await task(),
    send: ({ name }: { name: string }) => ask(name, reply(null)),
    ping: () => ask('ping', reply(undefined)),
  };
  const begin = (shown: ShownCredentials) => authenticate(connection as never, shown);
  const answer = async () => {
    answers.shift()?.();
    await settle();
  };
  return { asked, answer, begin };
}

const twoTokens = (): SaslMechanism => ({
  begin: () => {
    const tokens = [Buffer.from('a'), Buffer.from('b')];
    return { step: () => tokens.shift() };
  },
});

describe('the authentication of a connection', () => {
  it('shows credentials, then the tokens of SASL, then asks by a ping, one after the other', async () => {
    const { asked, answer, begin } = connect();
    const done = begin({ credentials: [digest('alice'), digest('bob')], sasl: twoTokens() });
    await answer();
    const order: string[] = [];
    for (let at = 0; at < 5; at++) {
      order.push(asked.join(' '));
      await answer();
    }
    expect(order.map((each) => each.split(' ').length)).toEqual([2, 3, 4, 5, 5]);
    expect(asked).toEqual(['alice:pw', 'bob:pw', 'sasl', 'sasl', 'ping']);
    expect(await done).toBe(7n);
  });

  it('is a ping without credentials: a server that demands some refuses that', async () => {
    const { asked, answer, begin } = connect();
    const done = begin({ credentials: [], sasl: undefined });
    await answer();
    expect(await done).toBe(7n);
    expect(asked).toEqual(['ping']);
  });

  it('asks for no operation while a step of SASL waits', async () => {
    const { asked, answer, begin } = connect();
    const sasl = { begin: () => ({ step: () => new Promise<undefined>(ignore) }) };
    void begin({ credentials: [], sasl });
    await answer();
    expect(asked).toEqual([]);
  });

  it("names the server to the mechanism without its name's dot at the end: Kerberos knew no such principal", async () => {
    const named: unknown[] = [];
    const sasl: SaslMechanism = {
      begin: (server) => {
        named.push(server);
        return { step: () => undefined };
      },
    };
    const { answer, begin } = connect('zk1.example.com.');
    const done = begin({ credentials: [], sasl });
    await answer();
    await answer();
    await done;
    expect(named).toEqual([{ host: 'zk1.example.com', port: 2181 }]);
  });
});

import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../../src/errors.js';
import { parseConnectString } from '../../../../src/session/connection/connect-string.js';
import { refusal } from '../../../support/refusal.js';

describe('the connect string', () => {
  it.each([
    ['localhost', ['localhost 2181'], ''],
    ['a:1,b:65535', ['a 1', 'b 65535'], ''],
    [' a:1 , b:2 /app', ['a 1', 'b 2'], '/app'],
    ['a:1,A:1,a:2', ['a 1', 'a 2'], ''],
    ['[::1]:2182,[fe80::1]', ['::1 2182', 'fe80::1 2181'], ''],
    ['my_app_zk_1.net_work:1', ['my_app_zk_1.net_work 1'], ''],
    ['zk-1.example.com.', ['zk-1.example.com. 2181'], ''],
    ['Zoo-Wärter.example', ['zoo-wärter.example 2181'], ''],
    ['10.0.0.1:1', ['10.0.0.1 1'], ''],
    ['[fe80::1%eth0]:1', ['fe80::1%eth0 1'], ''],
    ['a:1,\n\tb:2', ['a 1', 'b 2'], ''],
    ['a/', ['a 2181'], ''],
    ['a/x/y', ['a 2181'], '/x/y'],
  ])('%j names its servers and its chroot', (text, expected, chroot) => {
    const parsed = parseConnectString(text);
    expect(parsed.servers.map(({ host, port }) => `${host} ${port}`)).toEqual(expected);
    expect(parsed.chroot).toBe(chroot);
  });

  it.each([
    ['', 'a host between any two commas'],
    ['/app', 'a host between any two commas'],
    ['a,,b', 'a host between any two commas'],
    [':2181', 'a host between any two commas'],
    ['a:0', 'a port from 1 to 65535'],
    ['a:65536', 'a port from 1 to 65535'],
    ['a:x', 'a port from 1 to 65535'],
    ['a:', 'a port from 1 to 65535'],
    ['a:1:2', 'a port from 1 to 65535'],
    ['::1', 'a host between any two commas'],
    ['[::1', 'an IPv6 address in brackets'],
    ['[nonsense]:1', 'an IPv6 address between the brackets'],
    ['a b:1', 'a host name or an address'],
    ['a\tb', 'a host name or an address instead of "a\\tb"'],
    ['a\nb', 'a host name or an address'],
    ['a\u0000b', 'a host name or an address instead of "a\\u0000b"'],
    ['a\u200bb', 'a host name or an address'],
    ['a?b=c', 'a host name or an address'],
    ['a#b', 'a host name or an address'],
    ['a\\b', 'a host name or an address'],
    ['a%20b', 'a host name or an address'],
    ['a;b', 'a host name or an address'],
    ['"a"', 'a host name or an address'],
    ['*', 'a host name or an address'],
    ['.', 'a host name or an address'],
    ['a..b', 'a host name or an address'],
    ['-a', 'a host name or an address'],
    ['a-.b', 'a host name or an address'],
    ['256.0.0.1', 'a host name or an address'],
    [`${'a'.repeat(64)}.b`, 'a host name or an address'],
    ['a.'.repeat(127), 'a host name or an address'],
    ['zookeeper://a:2181', "host:port,host:port/chroot, without 'zookeeper://'"],
    ['zk://a:2181,b:2181/app', "host:port,host:port/chroot, without 'zk://'"],
    ['a:2181, http://b', "host:port,host:port/chroot, without ' http://'"],
    ['a/x//y', 'a chroot that is a path without empty parts'],
    ['a/x/', 'a chroot that is a path that does not end with /'],
    ['a/x,b/x', 'one chroot, after the last server'],
    [undefined, 'a string'],
    [null, 'a string'],
    [2181, 'a string'],
  ])('%j is refused, naming the option, the value and what would be right', (text, expected) => {
    const error = refusal(() => parseConnectString(text));
    expect(error).toMatchObject({ option: 'connect', value: text });
    expect(error.message).toContain(expected);
  });

  it.each(['user:secret@a:1', 'zookeeper:secret@a:1/app', 'zk://user:secret@a:1/app', 'secret@a'])(
    '%j is refused without showing what may be a password',
    (text) => {
      expect(() => parseConnectString(text)).toThrow(
        'connect is (not shown): expected no user or password: those belong in `auth`',
      );
    },
  );

  it('takes or refuses a long name at once', () => {
    for (const name of ['-'.repeat(10_000), 'a-'.repeat(5000), `${'a.'.repeat(126)}!`]) {
      const since = performance.now();
      expect(() => parseConnectString(name)).toThrow(InvalidOptionError);
      expect(performance.now() - since).toBeLessThan(100);
    }
  });
});

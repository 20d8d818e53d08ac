import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../src/errors.js';
import { parseConnectString } from '../../src/session/connect-string.js';

describe('the connect string', () => {
  it.each([
    ['localhost', [{ host: 'localhost', port: 2181 }], ''],
    [
      'a:1,b:65535',
      [
        { host: 'a', port: 1 },
        { host: 'b', port: 65535 },
      ],
      '',
    ],
    [
      ' a:1 , b:2 /app',
      [
        { host: 'a', port: 1 },
        { host: 'b', port: 2 },
      ],
      '/app',
    ],
    [
      'a:1,A:1,a:2',
      [
        { host: 'a', port: 1 },
        { host: 'a', port: 2 },
      ],
      '',
    ],
    [
      '[::1]:2182,[fe80::1]',
      [
        { host: '::1', port: 2182 },
        { host: 'fe80::1', port: 2181 },
      ],
      '',
    ],
    ['a/', [{ host: 'a', port: 2181 }], ''],
    ['a/x/y', [{ host: 'a', port: 2181 }], '/x/y'],
  ])('%j names its servers and its chroot', (text, servers, chroot) => {
    expect(parseConnectString(text)).toEqual({ servers, chroot });
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
    ['user:pass@a:1', 'a port'],
    ['a/x//y', 'a chroot that is a path without empty parts'],
    ['a/x/', 'a chroot that is a path that does not end with /'],
    ['a/x,b/x', 'one chroot, after the last server'],
    [undefined, 'a string'],
    [null, 'a string'],
    [2181, 'a string'],
  ])('%j is refused, naming the option, the value and what would be right', (text, expected) => {
    let error: unknown;
    try {
      parseConnectString(text);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error).toMatchObject({ option: 'connect', value: text });
    expect((error as Error).message).toContain(expected);
  });
});

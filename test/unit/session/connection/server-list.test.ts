import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  absoluteConnectSource,
  connectSource,
  renewed,
} from '../../../../src/session/connection/server-list.js';

const servers = (text: string) => [...text].map((host) => ({ host, port: 2181 }));
const hosts = (list: readonly { host: string }[]) => list.map(({ host }) => host).join('');

describe('a list of servers that changes', () => {
  it('has new servers first, and keeps the order of those that stay', () => {
    expect(hosts(renewed(servers('cab'), servers('abcd'), () => 0.5))).toBe('dcab');
    expect(hosts(renewed(servers('cab'), servers('bc'), () => 0.5))).toBe('cb');
    expect(hosts(renewed(servers('abc'), servers('de'), () => 0.9))).toBe('de');
  });

  it('is another one when only a port has changed', () => {
    const moved = [{ host: 'a', port: 2281 }];
    expect(renewed(servers('a'), moved, () => 0.5)).toEqual(moved);
  });

  it('names the listed servers and no other, once each, whatever was tried before', () => {
    const list = fc.uniqueArray(fc.constantFrom(...'abcdefgh')).map((each) => servers(each.join('')));
    const chance = fc.infiniteStream(fc.double({ min: 0, max: 1 - 1e-9, noNaN: true }));
    fc.assert(
      fc.property(list, list, chance, (present, listed, stream) => {
        const order = hosts(renewed(present, listed, () => stream.next().value as number));
        expect([...order].sort()).toEqual([...hosts(listed)].sort());
        const stays = [...hosts(present)].filter((host) => hosts(listed).includes(host)).join('');
        expect(order.slice(order.length - stays.length)).toBe(stays);
      }),
    );
  });

  it('is the same object when it names the same servers in any order, so that no place changes', () => {
    const present = servers('bca');
    expect(renewed(present, servers('abc'), () => 0.5)).toBe(present);
  });
});

describe('where the servers are, by a function', () => {
  it('may have other servers later, but no other chroot', async () => {
    const answers = ['a/app', 'b,c/app', 'd/other', 'd', 7];
    const source = connectSource(() => answers.shift());
    expect(source).toMatchObject({ name: 'connect()', newest: undefined });
    await source.ask();
    await source.ask();
    expect(source.value).toEqual({ servers: servers('bc'), chroot: '/app' });
    for (const expected of [
      'the chroot /app, as at first',
      'the chroot /app, as at first',
      'a string such as',
    ])
      expect(await source.ask()).toMatchObject({
        error: { option: 'connect()', expected: expect.stringContaining(expected) },
      });
    expect(hosts(source.value.servers)).toBe('bc');
  });

  it('has no chroot later if it had none at first', async () => {
    const answers = ['a', 'a/app'];
    const source = connectSource(() => answers.shift());
    await source.ask();
    expect(await source.ask()).toMatchObject({ error: { expected: 'no chroot, as at first' } });
  });

  it('loses its chroot where paths are absolute', async () => {
    expect(absoluteConnectSource('a/app').value.chroot).toBe('');
    const source = absoluteConnectSource(() => 'b/other');
    await source.ask();
    expect(source.value).toEqual({ servers: servers('b'), chroot: '' });
  });
});

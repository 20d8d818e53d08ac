import { describe, expect, it } from 'vitest';
import {
  hostRefusal,
  isLocal,
  isLoopbackAddress,
  isLoopbackHost,
  originRefusal,
  visitOf,
} from '../../../src/dashboard/request-guards.js';

describe('a host', () => {
  it.each([
    ['localhost', true],
    ['localhost:7070', true],
    ['127.0.0.1', true],
    ['127.1.2.3:80', true],
    ['[::1]:7070', true],
    ['[::1]', true],
    ['127.0.0.1.evil.example', false],
    ['localhost.evil.example', false],
    ['evil.example:127', false],
    ['10.0.0.1', false],
    ['0.0.0.0', false],
    ['[::2]', false],
    ['', false],
  ])('%s is a name of this machine: %s', (host, expected) => {
    expect(isLoopbackHost(host)).toBe(expected);
  });

  it('is allowed by its name with any port, or with one', () => {
    const refused = (host: string) =>
      hostRefusal(visitOf(new Request('http://a.example', { headers: { host } })), [
        'a.example',
        'b.example:80',
      ]);
    expect(refused('a.example:7070')).toBeUndefined();
    expect(refused('a.example')).toBeUndefined();
    expect(refused('b.example:80')).toBeUndefined();
    for (const host of ['b.example', 'b.example:81', 'c.a.example', 'a.example.evil'])
      expect(refused(host)?.code).toBe('HOST_NOT_ALLOWED');
  });
});

describe('a visitor', () => {
  const LOCAL = 'http://localhost:7070/api/state';

  it.each([
    ['is on this machine if it has asked for that, and its address is not known', LOCAL, {}, undefined, true],
    ['is on this machine by its address', LOCAL, {}, '::ffff:127.0.0.1', true],
    ['is not if another machine asks by the name localhost', LOCAL, {}, '192.0.2.7', false],
    ['is not if it has asked for another host', 'http://a.example/', {}, '127.0.0.1', false],
    ['is not if the header names another host', LOCAL, { host: 'a.example' }, '127.0.0.1', false],
  ])('%s', (_, url, headers: Record<string, string>, address, expected) => {
    expect(isLocal(visitOf(new Request(url, { headers }), address))).toBe(expected);
  });

  it.each([
    ...['Forwarded', 'Via', 'X-Real-IP', 'X-Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host'],
    ...['X-Forwarded-Proto', 'X-Forwarded-Port', 'X-Forwarded-Server', 'X-Forwarded-Prefix'],
    ...['X-Original-URL', 'X-Envoy-External-Address', 'True-Client-IP', 'CF-Connecting-IP', 'X-Client-IP'],
  ])('is not on this machine behind a proxy that says so by the header %s alone', (name) => {
    const request = new Request(LOCAL, { headers: { [name]: '' } });
    expect(isLocal(visitOf(request, '127.0.0.1'))).toBe(false);
  });

  it('is on this machine with all headers that browsers send', () => {
    const names = [
      ...['accept', 'accept-language', 'cache-control', 'cookie', 'dnt', 'if-none-match', 'origin', 'pragma'],
      ...['priority', 'referer', 'sec-fetch-site', 'upgrade-insecure-requests', 'user-agent'],
    ];
    const headers = Object.fromEntries(names.map((name) => [name, 'x']));
    expect(isLocal(visitOf(new Request(LOCAL, { headers }), '127.0.0.1'))).toBe(true);
  });

  it('has an address of this machine only if it begins and ends as such', () => {
    expect(['127.0.0.1', '::1', '::ffff:127.9.9.9'].every(isLoopbackAddress)).toBe(true);
    expect(['128.0.0.1', '::11', '127.0.0.1.2', '', 'fe80::1'].some(isLoopbackAddress)).toBe(false);
  });
});

describe('the origin of an action', () => {
  const refused = (headers: Record<string, string>, url = 'http://ops.example:8080') =>
    originRefusal(new Headers(headers), visitOf(new Request(url)))?.code;

  it.each<[Record<string, string>, string | undefined]>([
    [{ origin: 'http://ops.example:8080' }, undefined],
    [{ origin: 'HTTP://OPS.example:8080' }, undefined],
    [{ origin: 'https://ops.example:8080' }, 'ORIGIN_NOT_ALLOWED'],
    [{ origin: 'https://proxy.example' }, 'ORIGIN_NOT_ALLOWED'],
    [{ 'sec-fetch-site': 'same-origin' }, undefined],
    [{}, 'ORIGIN_MISSING'],
    [{ 'sec-fetch-site': 'none' }, 'ORIGIN_MISSING'],
    [{ 'sec-fetch-site': 'cross-site' }, 'ORIGIN_MISSING'],
    [{ origin: 'null' }, 'ORIGIN_NOT_ALLOWED'],
    [{ origin: 'null', 'sec-fetch-site': 'same-origin' }, 'ORIGIN_NOT_ALLOWED'],
    [{ origin: 'http://ops.example' }, 'ORIGIN_NOT_ALLOWED'],
    [{ origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' }, 'ORIGIN_NOT_ALLOWED'],
    [{ origin: 'http://ops.example:8080.evil.example' }, 'ORIGIN_NOT_ALLOWED'],
    [{ origin: 'ftp://ops.example:8080' }, 'ORIGIN_NOT_ALLOWED'],
    [{ origin: 'ftp://ops.example:8080', 'sec-fetch-site': 'same-origin' }, 'ORIGIN_NOT_ALLOWED'],
    // The page isn't the dashboard's, by the browser's own word.
    [{ origin: 'http://ops.example:8080', 'sec-fetch-site': 'cross-site' }, 'ORIGIN_NOT_ALLOWED'],
    [{ origin: 'http://ops.example:8080', 'sec-fetch-site': 'same-site' }, 'ORIGIN_NOT_ALLOWED'],
    [{ origin: 'http://ops.example:8080', 'sec-fetch-site': 'none' }, 'ORIGIN_NOT_ALLOWED'],
    [{ origin: 'http://ops.example:8080', 'sec-fetch-site': '' }, 'ORIGIN_NOT_ALLOWED'],
  ])('%o gives %s', (headers, expected) => {
    expect(refused(headers)).toBe(expected);
  });

  it('is another one by its scheme alone, but not by a port that is that of its scheme', () => {
    expect(refused({ origin: 'http://ops.example' }, 'https://ops.example')).toBe('ORIGIN_NOT_ALLOWED');
    expect(refused({ origin: 'https://ops.example' }, 'https://ops.example:443')).toBeUndefined();
  });

  it('may have the scheme of a proxy that ends TLS, if the browser says that it is the same', () => {
    const origin = 'https://ops.example';
    expect(refused({ origin }, 'http://ops.example')).toBe('ORIGIN_NOT_ALLOWED');
    expect(refused({ origin, 'sec-fetch-site': 'same-origin' }, 'http://ops.example')).toBeUndefined();
  });
});

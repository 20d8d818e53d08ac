import { isIPv6 } from 'node:net';
import { type ConclaveError, InvalidOptionError } from '../errors.js';
import { checkPath } from '../options.js';

/** One server of an ensemble. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

/** What a connect string says. */
export interface ConnectTarget {
  readonly servers: readonly Server[];
  /** The path that all others are below, without a slash at its end: `''` for none. */
  readonly chroot: string;
}

const DEFAULT_PORT = 2181;

/**
 * Reads `host[:port],host[:port]…[/chroot]`, as ZooKeeper's own clients do, with IPv6 addresses in brackets. Blanks
 * around a server are trimmed, a server named twice counts once, the port is 2181 unless given.
 *
 * @throws {@link InvalidOptionError} naming `option` and what is wrong
 */
export function parseConnectString(value: unknown, option = 'connect'): ConnectTarget {
  if (typeof value !== 'string')
    throw new InvalidOptionError(option, value, 'a string such as zk1:2181,zk2:2181/app');
  const slash = value.indexOf('/');
  const list = slash < 0 ? value : value.slice(0, slash);
  const servers = list.split(',').map((text) => parseServer(text.trim(), value, option));
  const distinct = new Map(servers.map((server) => [`${server.host} ${server.port}`, server]));
  return {
    servers: [...distinct.values()],
    chroot: parseChroot(slash < 0 ? '' : value.slice(slash), value, option),
  };
}

function parseServer(text: string, value: string, option: string): Server {
  const wrong = (expected: string) => new InvalidOptionError(option, value, expected);
  const match = /^(?:\[(?<address>[^\]]*)\]|(?<name>[^:[\]]*))(?::(?<port>.*))?$/.exec(text);
  if (match === null) throw wrong(`host:port, with an IPv6 address in brackets, instead of '${text}'`);
  const { address, name, port } = match.groups ?? {};
  if (address !== undefined && !isIPv6(address))
    throw wrong(`an IPv6 address between the brackets of '${text}'`);
  const host = address ?? name ?? '';
  if (host === '') throw wrong('a host between any two commas');
  if (/[\s@?#]/.test(host)) throw wrong(`a host name or an address instead of '${host}'`);
  return { host: host.toLowerCase(), port: port === undefined ? DEFAULT_PORT : parsePort(port, text, wrong) };
}

function parsePort(port: string, text: string, wrong: (expected: string) => ConclaveError): number {
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65535) throw wrong(`a port from 1 to 65535 in '${text}'`);
  return number;
}

function parseChroot(chroot: string, value: string, option: string): string {
  if (chroot === '' || chroot === '/') return '';
  // Legal in a path, but what it means here is nearly always a chroot after each server.
  if (chroot.includes(',')) throw new InvalidOptionError(option, value, 'one chroot, after the last server');
  try {
    return checkPath(option, chroot);
  } catch (cause) {
    // The path's check names the path: the caller gave a connect string.
    if (!(cause instanceof InvalidOptionError)) throw cause;
    throw new InvalidOptionError(option, value, `a chroot that is ${cause.expected}`);
  }
}

import { isIPv4, isIPv6 } from 'node:net';
import { type ConclaveError, InvalidOptionError, NOT_SHOWN } from '../../errors.js';
import { checkPath } from '../../platform/checks.js';
import type { Server } from '../../platform/injected-environment.js';

export interface ConnectTarget {
  readonly servers: readonly Server[];
  /** The path below which all paths are, without a slash at its end; `''` for none. */
  readonly chroot: string;
}

const DEFAULT_PORT = 2181;
/** A URL's scheme, as `zookeeper://`, before the first server or a later one. */
const SCHEME = /(?<=^|,)\s*[a-z][a-z\d+.-]*:\/\//i;
const MAX_HOST_CHARACTERS = 253; // The longest name that the domain name system can look up. A label has 63 characters at most.
const HOST = /^(?:(?!-)[\p{L}\p{M}\p{N}_-]{1,63}(?<!-)(?:\.(?!$)|\.?$))+$/u;

/**
 * Parses `host[:port],host[:port]…[/chroot]` as ZooKeeper's own clients do, with IPv6 addresses in brackets. It trims blanks
 * around a server, drops a server that is named twice, and uses 2181 as the default port.
 *
 * @throws {@link InvalidOptionError} with the name of `option` and what would be right
 */
export function parseConnectString(value: unknown, option = 'connect'): ConnectTarget {
  if (typeof value !== 'string')
    throw new InvalidOptionError(option, value, 'a string such as zk1:2181,zk2:2181/app');
  const slash = value.indexOf('/');
  const list = slash < 0 ? value : value.slice(0, slash);
  const [scheme] = SCHEME.exec(value) ?? [];
  // The text before the `@` may be a password, so it isn't shown.
  if ((scheme === undefined ? list : value).includes('@'))
    throw new InvalidOptionError(option, NOT_SHOWN, 'no user or password: those belong in `auth`');
  if (scheme !== undefined)
    throw new InvalidOptionError(option, value, `host:port,host:port/chroot, without '${scheme}'`);
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
  if (address === undefined && !isHost(host))
    throw wrong(`a host name or an address instead of ${JSON.stringify(host)}`);
  return { host: host.toLowerCase(), port: port === undefined ? DEFAULT_PORT : parsePort(port, text, wrong) };
}

/**
 * Whether the resolver accepts the name: it also takes Docker Compose's underscores and any script. A wrong name would be tried
 * until the time is up.
 */
function isHost(text: string): boolean {
  const looksLikeAddress = /^\d+(\.\d+){3}$/.test(text);
  return text.length <= MAX_HOST_CHARACTERS && (looksLikeAddress ? isIPv4(text) : HOST.test(text));
}

function parsePort(port: string, text: string, wrong: (expected: string) => ConclaveError): number {
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65535) throw wrong(`a port from 1 to 65535 in '${text}'`);
  return number;
}

function parseChroot(chroot: string, value: string, option: string): string {
  if (chroot === '' || chroot === '/') return '';
  // A comma is legal in a path, but nearly always means that each server was given a chroot.
  if (chroot.includes(',')) throw new InvalidOptionError(option, value, 'one chroot, after the last server');
  try {
    return checkPath(option, chroot);
  } catch (cause) {
    // That error shows only the chroot, but the caller gave a connect string.
    if (!(cause instanceof InvalidOptionError)) throw cause;
    throw new InvalidOptionError(option, value, `a chroot that is ${cause.expected}`);
  }
}

import { InvalidOptionError } from '../../errors.js';
import type { Server } from '../../platform/injected-environment.js';
import { type ConnectTarget, parseConnectString } from './connect-string.js';
import { OptionSource } from './option-source.js';

/** Where the servers are: a connect string, or a function that gives one. All sessions of an owner share it. */
export type ConnectSource = OptionSource<ConnectTarget>;

/** @throws InvalidOptionError for a wrong connect string. A function isn't called yet. */
export function connectSource(given: unknown): ConnectSource {
  const check = (value: unknown, name: string, former: ConnectTarget | undefined) => {
    const target = parseConnectString(value, name);
    if (former === undefined || target.chroot === former.chroot) return target;
    const expected =
      former.chroot === '' ? 'no chroot, as at first' : `the chroot ${former.chroot}, as at first`;
    throw new InvalidOptionError(name, value, expected);
  };
  return new OptionSource(given, check, 'connect', 'connect()');
}

/** As {@link connectSource}, for paths that are absolute. A chroot has no effect. */
export function absoluteConnectSource(given: unknown): ConnectSource {
  const check = (value: unknown, name: string) => ({ ...parseConnectString(value, name), chroot: '' });
  return new OptionSource(given, check, 'connect', 'connect()');
}

/** The items in random order, so that the clients of one ensemble don't all begin with the same server. */
export function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const pick = Math.floor(random() * (last + 1));
    [result[last], result[pick]] = [result[pick] as T, result[last] as T];
  }
  return result;
}

/**
 * The servers of a new list in the order to try them: new ones first, shuffled; then those that stay, in the order that they had. It is
 * `present` itself if the list names the same servers.
 * @param present - the servers in the order to try them, the next one first
 */
export function renewed(
  present: readonly Server[],
  listed: readonly Server[],
  random: () => number,
): readonly Server[] {
  const staying = present.filter((server) => isIn(listed, server));
  const added = listed.filter((server) => !isIn(present, server));
  if (added.length === 0 && staying.length === present.length) return present;
  return [...shuffled(added, random), ...staying];
}

function isIn(servers: readonly Server[], { host, port }: Server): boolean {
  return servers.some((each) => each.host === host && each.port === port);
}

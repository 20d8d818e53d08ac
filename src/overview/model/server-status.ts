import type { ServerView } from './views.js';

const ROLES: ReadonlySet<string> = new Set<ServerView['role']>([
  'leader',
  'follower',
  'observer',
  'standalone',
]);

/**
 * What a server says of itself, in its answer to the command `srvr`. `unknown`: it gives another answer, for example because the command
 * isn't allowed.
 */
export function parseServerStatus(answer: string): Pick<ServerView, 'role' | 'version'> {
  const [, mode = ''] = /^Mode: (\w+)$/m.exec(answer) ?? [];
  const [, version] = /^Zookeeper version: (\d[\w.]{0,20})/m.exec(answer) ?? [];
  const role = ROLES.has(mode) ? (mode as ServerView['role']) : 'unknown';
  return { role, ...(version !== undefined && { version }) };
}

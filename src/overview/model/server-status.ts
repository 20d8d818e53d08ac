import type { ServerView } from './views.js';

const ROLES: Readonly<Record<string, ServerView['role']>> = {
  leader: 'leader',
  follower: 'follower',
  observer: 'observer',
  standalone: 'standalone',
};

/** What a server says of itself, in its answer to the command `srvr`. `unknown`: it answers something else, since the command isn't allowed, say. */
export function parseServerStatus(answer: string): Pick<ServerView, 'role' | 'version'> {
  const [, mode = ''] = /^Mode: (\w+)$/m.exec(answer) ?? [];
  const [, version] = /^Zookeeper version: (\d[\w.]{0,20})/m.exec(answer) ?? [];
  return { role: ROLES[mode] ?? 'unknown', ...(version !== undefined && { version }) };
}

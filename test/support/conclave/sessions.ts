import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { type Environment, systemEnvironment } from '../../../src/platform/injected-environment.js';
import { Session } from '../../../src/session/session.js';
import type { SessionOptions } from '../../../src/session/session-options.js';
import { startProxy } from '../faults/start-proxy.js';
import { endsWithTest } from '../vitest/test-end.js';

/** A path that no other test uses. */
export function uniquePath(name = 'test'): string {
  return `/${name}-${randomUUID()}`;
}

/** The servers that all tests share. */
export function connectString(): string {
  return inject('connectString');
}

/** The machine's environment, but without chance: servers are tried in the order of the connect string. */
export const inOrder: Environment = { ...systemEnvironment, random: () => 1 - 1e-9 };

/** A session that is closed when the test has ended. */
export async function openSession(options: SessionOptions = {}, connect = connectString()): Promise<Session> {
  return endsWithTest(await Session.connect(connect, { sessionTimeoutMs: 5000, ...options }));
}

/** A session that reaches the server that all tests share through a proxy, and a path that no other test uses. */
export async function openProxied(options: SessionOptions = {}) {
  const proxy = await startProxy();
  return { proxy, session: await openSession(options, proxy.connectString), path: uniquePath() };
}

/** A session, and a path that no other test uses. */
export async function openWithPath(name?: string) {
  return { session: await openSession(), path: uniquePath(name) };
}

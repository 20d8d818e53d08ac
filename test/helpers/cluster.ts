import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { type Environment, systemEnvironment } from '../../src/platform/environment.js';
import { Session } from '../../src/session/session.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import { onTestFinished } from './finish.js';

/** A path that no other test uses. */
export function uniquePath(name = 'test'): string {
  return `/${name}-${randomUUID()}`;
}

/** The servers that all tests share. */
export function connectString(): string {
  return inject('connectString');
}

/** The machine's environment, but for chance: servers are tried in the order in which they are named. */
export const inOrder: Environment = { ...systemEnvironment, random: () => 1 - 1e-9 };

/** A session that is closed when the test has ended. */
export async function openSession(options: SessionOptions = {}, connect = connectString()): Promise<Session> {
  const session = await Session.connect(connect, { sessionTimeoutMs: 5000, ...options });
  onTestFinished(() => session.close());
  return session;
}

/** What can be listened to: our emitters, whatever their events. */
export interface Emitter {
  once(event: string, listener: (...args: never[]) => void): unknown;
  off(event: string, listener: (...args: never[]) => void): unknown;
}

/** Resolves with the arguments of the next such event. */
export function nextEvent<Args extends unknown[] = unknown[]>(
  emitter: unknown,
  event: string,
): Promise<Args> {
  return new Promise((resolve) => {
    (emitter as Emitter).once(event, (...args: unknown[]) => resolve(args as Args));
  });
}

/** The names of all events of an emitter, in order, as they come. */
export function recordEvents(emitter: unknown, ...events: string[]): string[] {
  const seen: string[] = [];
  for (const event of events) {
    (emitter as { on(event: string, listener: () => void): unknown }).on(event, () => void seen.push(event));
  }
  return seen;
}

/** Resolves when `condition` holds; looks again every few milliseconds. For what tells of itself by no event. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what = 'the condition',
): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`${what} did not come true within 20 s`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Resolves when the signal has aborted, with its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}

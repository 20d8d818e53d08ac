import { AsyncLocalStorage } from 'node:async_hooks';
import { onTestFinished as ofTheRunningTest, type TestContext } from 'vitest';

const concurrent = new AsyncLocalStorage<TestContext>();

/**
 * vitest's `onTestFinished`, also for tests that run at the same time: vitest's own knows one test at a time, so that
 * one test would end the resources of another. Give the body of such a test to {@link concurrently}.
 */
export function onTestFinished(end: Parameters<TestContext['onTestFinished']>[0]): void {
  const context = concurrent.getStore();
  if (context === undefined) ofTheRunningTest(end);
  else context.onTestFinished(end);
}

/** Stops or closes what it is given, and returns, when the test has ended. */
export function endsWithTest<T extends { stop(): unknown } | { close(): unknown }>(given: T): T {
  onTestFinished(async () => void (await ('stop' in given ? given.stop() : given.close())));
  return given;
}

/** A test's body for `it.concurrent`, and with its case as the first argument for `it.concurrent.for`. */
export function concurrently(body: () => Promise<void>): (context: TestContext) => Promise<void>;
export function concurrently<Case>(
  body: (each: Case) => Promise<void>,
): (each: Case, context: TestContext) => Promise<void>;
export function concurrently(body: (...args: unknown[]) => Promise<void>) {
  return (...args: unknown[]) => concurrent.run(args.at(-1) as TestContext, () => body(...args.slice(0, -1)));
}

import { onAbort } from './ending.js';
import { checkOptions, checkSignal } from './options.js';

/** How something is started that goes on until it is stopped. */
export interface StartOptions {
  /**
   * Aborting it before `start()` has resolved stops what was begun, as `stop()` does, and for good: then `start()` rejects
   * with the signal's reason. One that has aborted before leaves everything as it was. It does nothing once `start()` has
   * resolved.
   */
  readonly signal?: AbortSignal;
}

/** What can be started, and stopped before that has come to its end: then `begin`'s promise rejects. */
export interface Startable {
  begin(): Promise<void>;
  /** Never rejects. */
  stop(): Promise<void>;
}

/** Starts it as the options say. Without a signal that is `begin` itself: a second call has the first one's promise. */
export function start(given: unknown, startable: Startable): Promise<void> {
  try {
    const { signal } = checkOptions<StartOptions>('start', given, ['signal']);
    if (checkSignal('start.signal', signal) === undefined) return startable.begin();
    return startUnless(signal as AbortSignal, startable);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Rejects when it has been stopped, so that nothing is left behind when the caller goes on. */
async function startUnless(signal: AbortSignal, { begin, stop }: Startable): Promise<void> {
  signal.throwIfAborted();
  let stopping: Promise<void> | undefined;
  const forget = onAbort(signal, () => {
    stopping = stop();
  });
  try {
    await begin();
  } catch (error) {
    if (stopping === undefined) throw error;
  } finally {
    forget();
  }
  if (stopping === undefined) return;
  await stopping;
  throw signal.reason;
}

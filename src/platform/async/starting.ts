import { checkOptions, checkSignal } from '../checks.js';
import { onAbort } from './lazy-abort.js';
import { ignore } from './promises.js';

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

/** What comes to nothing because the application has asked for its end. */
const excused = new WeakSet<Promise<void>>();

/** It is stopped before it may have started: whoever waits for that sees it, and nobody else has to handle it. */
export function excuse(begun: Promise<void>): void {
  excused.add(begun);
  begun.catch(ignore);
}

/** Starts it as the options say. Without a signal that is `begin` itself: a second call has the first one's promise. */
export function start(given: unknown, startable: Startable): Promise<void> {
  try {
    const { signal } = checkOptions<StartOptions>('start', given, ['signal']);
    if (checkSignal('start.signal', signal) === undefined) return startable.begin();
    const started = startUnless(signal as AbortSignal, startable, () => void started.catch(ignore));
    return started;
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * Rejects when it has been stopped, so that nothing is left behind when the caller goes on.
 *
 * @param onExcused - it rejects, and nobody has to handle that
 */
async function startUnless(
  signal: AbortSignal,
  { begin, stop }: Startable,
  onExcused: () => void,
): Promise<void> {
  signal.throwIfAborted();
  let stopping: Promise<void> | undefined;
  const forget = onAbort(signal, () => {
    stopping = stop();
  });
  const begun = begin();
  try {
    await begun;
  } catch (error) {
    if (stopping === undefined) {
      if (excused.has(begun)) onExcused();
      throw error;
    }
  } finally {
    forget();
  }
  if (stopping === undefined) return;
  await stopping;
  throw signal.reason;
}

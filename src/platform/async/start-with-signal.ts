import { checkOptions, checkSignal } from '../checks.js';
import { onAbort } from './lazy-abort-controller.js';
import { ignore } from './promises.js';

/** The options of a `start()`. */
export interface StartOptions {
  /**
   * If it aborts before `start()` has resolved, the object stops for good, as after `stop()`. `start()` then rejects with the signal's
   * reason. If it has aborted before the call, the object doesn't start. After `start()` has resolved, the signal has no effect.
   */
  readonly signal?: AbortSignal;
}

/** An object that `start()` starts. A stop before `begin` has resolved makes `begin` reject. */
export interface Startable {
  begin(): Promise<void>;
  /** Never rejects. */
  stop(): Promise<void>;
}

/** The promises of starts that end because the application has stopped them. */
const stopped = new WeakSet<Promise<void>>();

/** Marks a start that ends because of a stop. A caller that waits gets its rejection, which needn't be handled. */
export function markStopped(begun: Promise<void>): void {
  stopped.add(begun);
  begun.catch(ignore);
}

/** Starts `startable`. Without a signal this is `begin` itself: a second call gets the promise of the first. */
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
 * After an abort it rejects only when the stop is done. So nothing is left behind when the caller goes on.
 *
 * @param onStopped - called if the returned promise rejects because of a stop and needn't be handled
 */
async function startUnless(
  signal: AbortSignal,
  { begin, stop }: Startable,
  onStopped: () => void,
): Promise<void> {
  signal.throwIfAborted();
  let stopping: Promise<void> | undefined;
  const unsubscribe = onAbort(signal, () => {
    stopping = stop();
  });
  const begun = begin();
  try {
    await begun;
  } catch (error) {
    if (stopping === undefined) {
      if (stopped.has(begun)) onStopped();
      throw error;
    }
  } finally {
    unsubscribe();
  }
  if (stopping === undefined) return;
  await stopping;
  throw signal.reason;
}

/** Waits for events of any emitter, and for the abort of a signal. It runs in plain Node. */

/**
 * Resolves with the arguments of the next such event.
 *
 * @template {unknown[]} [Args=unknown[]]
 * @param {unknown} emitter
 * @param {string} event
 * @returns {Promise<Args>}
 */
export function nextEvent(emitter, event) {
  const { once } = /** @type {Listening} */ (emitter);
  return new Promise((resolve) => {
    once.call(emitter, event, (...args) => resolve(/** @type {Args} */ (args)));
  });
}

/**
 * The names of these events of an emitter, in the order in which they come.
 *
 * @param {unknown} emitter
 * @param {readonly string[]} events
 * @returns {string[]}
 */
export function recordEvents(emitter, ...events) {
  /** @type {string[]} */
  const seen = [];
  const { on } = /** @type {Listening} */ (emitter);
  for (const event of events) on.call(emitter, event, () => void seen.push(event));
  return seen;
}

/**
 * Resolves when the signal has aborted, with its reason.
 *
 * @param {AbortSignal} signal
 * @returns {Promise<unknown>}
 */
export function aborted(signal) {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}

/** @typedef {(event: string, listener: (...args: unknown[]) => void) => unknown} Listen */
/** @typedef {{ once: Listen, on: Listen }} Listening */

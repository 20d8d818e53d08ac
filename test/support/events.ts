import {
  type EventSource,
  recordEvents,
  nextEvent as within,
} from '../../src/testing/controls/wait-for-events.js';

export { recordEvents };

/** The errors that it reports from now on. */
export function errorsOf(source: EventSource): Error[] {
  const errors: Error[] = [];
  source.on('error', (error) => void errors.push(error as Error));
  return errors;
}

/** As `nextEvent` of `conclave/testing`, for so long as the machine of the tests may be busy, and less than a test may take: so its error is seen. */
export function nextEvent<Args extends unknown[] = unknown[]>(
  source: EventSource,
  event: string,
): Promise<Args> {
  return within<Args>(source, event, { timeoutMs: 45_000 });
}

/** Acts, and resolves with the arguments of the next such event from then on. */
export async function eventAfter<Args extends unknown[] = unknown[]>(
  source: EventSource,
  event: string,
  act: () => unknown,
): Promise<Args> {
  const came = nextEvent<Args>(source, event);
  await act();
  return await came;
}

/** Resolves when the signal has aborted, with its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}

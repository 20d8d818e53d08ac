/** These make a candidate leave the queue while it waits. The others are for the leader's work, and are ignored until then. */
export const LEAVE_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP'];

/** With these the user ends the command of `conclave run`. It gets them, and SIGKILL follows when the grace is over. */
export const END_SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGQUIT'];

/** These only go to the command: to many programs SIGHUP says that their configuration has changed. */
export const FORWARDED_SIGNALS: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'];

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves at the first signal to stop. From then on signals have their default effect: a second Ctrl+C ends the process. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => void onStopSignal(() => resolve()));
}

/**
 * Calls back at the first signal to stop. From then on signals have their default effect.
 * @returns a function that stops listening to them
 */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): () => void {
  const end = () => {
    for (const signal of STOP_SIGNALS) process.off(signal, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    end();
    stop(signal);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
  return end;
}

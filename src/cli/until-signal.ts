const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves when this process is told to end. From then on signals do what they always do: a second Ctrl+C ends it at once. */
export function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    const told = () => {
      for (const signal of SIGNALS) process.off(signal, told);
      resolve();
    };
    for (const signal of SIGNALS) process.on(signal, told);
  });
}

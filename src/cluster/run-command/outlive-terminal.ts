import { closeSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';

const STANDARD_STREAMS = [0, 1, 2]; // In this order: a file that is opened gets the lowest descriptor that is free.

/**
 * Lets this process end with its exit code also if a terminal of it is gone by then. Node resets, at the end, the terminals that it was
 * started with, and aborts the process if it can't reset one.
 */
export function outliveTerminals(): void {
  const terminals = STANDARD_STREAMS.filter((descriptor) => isatty(descriptor));
  if (terminals.length === 0) return;
  process.on('exit', () => {
    for (const descriptor of terminals) if (!isatty(descriptor)) replace(descriptor);
  });
}

/** Closes the files that this process was started with. */
export function leaveStandardStreams(): void {
  for (const descriptor of STANDARD_STREAMS) replace(descriptor);
}

function replace(descriptor: number): void {
  try {
    closeSync(descriptor);
    openSync('/dev/null', 'r+');
  } catch {
    // Then Node aborts the process, or nothing needs to be replaced.
  }
}

import type { ChildProcess } from 'node:child_process';

/** Whether it is a process that this one has started. */
export function isChildProcess(value: unknown): value is ChildProcess {
  // Loaded only by those who use it: it takes its time.
  return value instanceof process.getBuiltinModule('node:child_process').ChildProcess;
}

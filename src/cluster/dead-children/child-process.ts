import type { ChildProcess } from 'node:child_process';

/** Whether it is a process that this one has started. */
export function isChildProcess(value: unknown): value is ChildProcess {
  // Loaded only when it is used: that takes its time.
  return value instanceof process.getBuiltinModule('node:child_process').ChildProcess;
}

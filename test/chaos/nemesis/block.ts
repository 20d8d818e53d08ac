/** How a thread is blocked: it computes, or it waits for something, as by a synchronous call of the system. */
export type Blocking = 'computes' | 'waits';

/** Blocks this thread for so many milliseconds. */
export function block(ms: number, how: Blocking): void {
  const end = performance.now() + ms;
  if (how === 'waits') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  while (performance.now() < end);
}

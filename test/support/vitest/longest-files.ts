/**
 * The files that take longest, longest first. Files that run at the same time take at least as long as the longest of
 * them, and longer if that one begins late. In a fresh clone vitest doesn't know how long each file takes. It then uses
 * the size, which says little: some of the shortest files start the most processes.
 */
export const LONGEST = [
  'test/interop/kazoo-suite.test.ts',
  'test/interop/go-zookeeper-suite.test.ts',
  'test/interop/scheduler-firings.test.ts',
  'test/chaos/nemesis.test.ts',
  // The simulation runs beside it.
  'test/simulation/simulation.test.ts',
  'test/simulation/failing-seeds.test.ts',
  'test/simulation/wrong-shards.test.ts',
  'test/mutants/mutants.test.ts',
  'test/chaos/network.test.ts',
  'test/chaos/stalled-main-thread.test.ts',
  'test/interop/schedulers.test.ts',
  'test/integration/run.test.ts',
  'test/chaos/lease-and-expiry.test.ts',
  'test/model/explorer/explorer.test.ts',
  'test/chaos/run.test.ts',
  'test/integration/examples.test.ts',
  'test/interop/embedded.test.ts',
  'test/integration/tls.test.ts',
  'test/hazards/hazards.test.ts',
  'test/chaos/killed-server.test.ts',
  'test/integration/lock-load.test.ts',
  'test/integration/observer.test.ts',
  'test/integration/bench.test.ts',
  'test/integration/guides/blocked-loops.test.ts',
  'test/integration/processes.test.ts',
  'test/integration/password-that-rotates.test.ts',
  'test/interop/locks.test.ts',
];

/** How many other files come after each of them. All of them at once would take the processors too long. */
export const BETWEEN = 5;

/** Deals the longest files among the first of the others, whose order stays. */
export function dealLongest<T>(files: readonly T[], pathOf: (file: T) => string): T[] {
  const rank = (file: T) => LONGEST.indexOf(pathOf(file));
  const others = files.filter((file) => rank(file) === -1);
  const longest = files.filter((file) => rank(file) !== -1).sort((a, b) => rank(a) - rank(b));
  return [...longest.flatMap((file) => [file, ...others.splice(0, BETWEEN)]), ...others];
}

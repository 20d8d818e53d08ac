/**
 * The files that take longest, longest first. Those that run beside each other take as long as the longest of them at
 * least, and longer by as much as that one begins late. In a fresh clone vitest doesn't know how long each takes and
 * goes by its size, which says little: some of the shortest start the most processes.
 */
export const LONGEST = [
  'test/chaos/nemesis.test.ts',
  // What runs beside it: the simulation, which takes least, about when two servers' disks are full. With all processors
  // taken, ZooKeeper has lost a committed write in that.
  'test/model/model.test.ts',
  'test/simulation/simulation.test.ts',
  'test/mutants/mutants.test.ts',
  'test/chaos/killed-server.test.ts',
  'test/integration/examples.test.ts',
  'test/integration/run.test.ts',
  'test/integration/lock-load.test.ts',
  'test/interop/embedded.test.ts',
  'test/integration/bench.test.ts',
  'test/integration/processes.test.ts',
  'test/integration/observer.test.ts',
  'test/integration/tls.test.ts',
  'test/interop/locks.test.ts',
];

/** How many others come after each of them. All of them at once would be more than the processors can do in time. */
export const BETWEEN = 5;

/** Deals the longest files among the first of the others, whose order stays. */
export function dealLongest<T>(files: readonly T[], pathOf: (file: T) => string): T[] {
  const rank = (file: T) => LONGEST.indexOf(pathOf(file));
  const others = files.filter((file) => rank(file) === -1);
  const longest = files.filter((file) => rank(file) !== -1).sort((a, b) => rank(a) - rank(b));
  return [...longest.flatMap((file) => [file, ...others.splice(0, BETWEEN)]), ...others];
}

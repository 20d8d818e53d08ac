import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification, type Vitest } from 'vitest/node';

/**
 * The files that take longest, longest first. Those that run beside each other take as long as the longest of them at
 * least, and longer by as much as that one begins late. In a fresh clone vitest doesn't know how long each takes and
 * goes by its size, which says little: some of the shortest start the most processes.
 */
const LONGEST = [
  'test/chaos/nemesis.test.ts',
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
const BETWEEN = 5;

/** Deals the longest files among the first of the others, in each group of files that run beside each other. */
export class LongOnesEarly extends BaseSequencer {
  readonly #root: string;

  constructor(vitest: Vitest) {
    super(vitest);
    this.#root = vitest.config.root;
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const groupOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    const groups = [...new Set(sorted.map(groupOf))];
    return groups.flatMap((group) => this.#deal(sorted.filter((file) => groupOf(file) === group)));
  }

  #deal(group: readonly TestSpecification[]): TestSpecification[] {
    const rank = ({ moduleId }: TestSpecification) => LONGEST.indexOf(relative(this.#root, moduleId));
    const others = group.filter((file) => rank(file) === -1);
    const longest = group.filter((file) => rank(file) !== -1).sort((a, b) => rank(a) - rank(b));
    return [...longest.flatMap((file) => [file, ...others.splice(0, BETWEEN)]), ...others];
  }
}

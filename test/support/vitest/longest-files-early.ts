import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification, type Vitest } from 'vitest/node';
import { dealLongest } from './longest-files.js';

/** vitest's order, except that the longest files begin early in each group of files that run at the same time. */
export class LongestFilesEarly extends BaseSequencer {
  readonly #root: string;

  constructor(vitest: Vitest) {
    super(vitest);
    this.#root = vitest.config.root;
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const groupOf = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    const pathOf = ({ moduleId }: TestSpecification) => relative(this.#root, moduleId);
    const groups = [...new Set(sorted.map(groupOf))];
    return groups.flatMap((group) =>
      dealLongest(
        sorted.filter((file) => groupOf(file) === group),
        pathOf,
      ),
    );
  }
}

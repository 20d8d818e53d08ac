import { onTestFinished } from 'vitest';
import type { GroupView, OverviewChange } from '../../../src/overview/model/view-types.js';
import { Overview, type OverviewOptions } from '../../../src/overview/overview.js';
import { SILENT } from '../silent-logger.mjs';

/** An overview that has read everything, and the changes that it reports. It ends with the test. */
export async function overviewOf(
  source: ConstructorParameters<typeof Overview>[0],
  options: OverviewOptions = {},
  settled: <T>(promise: Promise<T>) => Promise<T> = (promise) => promise,
) {
  const overview = new Overview(source, { logger: SILENT, ...options });
  const changes: OverviewChange[] = [];
  const errors: Error[] = [];
  overview.on('change', (change) => changes.push(change)).on('error', (error) => errors.push(error));
  onTestFinished(() => settled(overview.stop()));
  await settled(overview.start());
  const election = (path: string) => overview.state.elections.find((each) => each.path === path);
  const lock = (path: string) => overview.state.locks.find((each) => each.path === path);
  const group = (path: string): GroupView | undefined =>
    overview.state.groups.find((each) => each.path === path);
  const transitions = () => changes.flatMap((change) => change.transitions?.toReversed() ?? []);
  return { overview, changes, errors, election, lock, group, transitions };
}

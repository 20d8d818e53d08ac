import { type Run, simulate } from './run.js';

/** The violations of a world. Its seed is all that is needed to see them again. */
export async function violationsOf(run: Run): Promise<string[]> {
  const { violations } = await simulate(run);
  return violations.map(
    (each) => `npm run simulate -- --seed ${run.seed} --faults ${run.faultRate}: ${each.what}`,
  );
}

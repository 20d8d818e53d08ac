/** The published figures. Those of each row come from the run that measured it last, so that you can measure one row again by itself. */

/** @import { Finding } from '../harness/finding.mjs' */
/** @import { Results } from './markdown.mjs' */

/**
 * Adds a run to the published runs. Its rows take the place of theirs. The single values are left out, because only plots need them.
 *
 * @param {readonly Results[]} published the newest first
 * @param {Results} run
 * @returns {Results[]} the newest first, without runs of which no row is left
 */
export function withRun(published, run) {
  const ids = new Set(run.findings.map(({ id }) => id));
  const older = published.map((each) => ({
    ...each,
    findings: each.findings.filter(({ id }) => !ids.has(id)),
  }));
  return [{ ...run, findings: run.findings.map(withoutData) }, ...older].filter(
    ({ findings }) => findings.length > 0,
  );
}

/** @param {Finding} finding @returns {Finding} */
function withoutData(finding) {
  return { ...finding, data: undefined };
}

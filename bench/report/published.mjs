/** The published figures: those of each row are of the run that measured it last. So a row can be measured again by itself. */

/** @import { Finding } from '../harness/finding.mjs' */
/** @import { Results } from './markdown.mjs' */

/**
 * The published runs after another one: its rows take the place of theirs. Without the single values, which only plots need.
 *
 * @param {readonly Results[]} published the newest first
 * @param {Results} run
 * @returns {Results[]} the newest first; a run of which no row is left is left out
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

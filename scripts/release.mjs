/**
 * The changelog at a release.
 *
 *     node scripts/release.mjs            what is "Unreleased" becomes the version of package.json, of today
 *     node scripts/release.mjs --notes    prints what changed in the version of package.json
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const UNRELEASED = '## [Unreleased]';

/**
 * Gives the changes that are unreleased a version.
 *
 * @param {string} changelog
 * @param {string} version
 * @param {string} date - as 2026-11-24
 * @returns {string}
 */
export function released(changelog, version, date) {
  if (changelog.includes(`\n## [${version}]`)) throw new Error(`CHANGELOG.md has version ${version} already`);
  if (sectionOf(changelog, 'Unreleased') === '')
    throw new Error(`CHANGELOG.md has nothing below ${UNRELEASED}`);
  return changelog.replace(`${UNRELEASED}\n`, () => `${UNRELEASED}\n\n## [${version}] - ${date}\n`);
}

/** What changed in a version, without its heading. @param {string} changelog @param {string} version */
export function sectionOf(changelog, version) {
  const sections = changelog.split(/^(?=## )/m);
  const section = sections.find((each) => each.startsWith(`## [${version}]`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no version ${version}`);
  return section.replace(/^.*\n/, '').trim();
}

if (process.argv[1] === import.meta.filename) {
  const root = join(import.meta.dirname, '..');
  const path = join(root, 'CHANGELOG.md');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const changelog = readFileSync(path, 'utf8');
  if (process.argv.includes('--notes')) console.log(sectionOf(changelog, version));
  else writeFileSync(path, released(changelog, version, new Date().toISOString().slice(0, 10)));
}

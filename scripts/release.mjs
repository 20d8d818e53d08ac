/**
 * Updates the changelog and the sources for a release.
 *
 *     node scripts/release.mjs            puts the version of package.json and today's date above the changes below "Unreleased",
 *                                         and writes that version into the sources
 *     node scripts/release.mjs --notes    prints the changes in the version of package.json
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const UNRELEASED = '## [Unreleased]';
const VERSION_FILE = 'src/public-class/version.ts';
/** The link definitions of the changelog's headings. Other links may have definitions, too. */
const ADDRESSES = /^\[(?:Unreleased|\d+\.\d+\.\d+[^\]\s]*)\]: .*\n?/gm;

/**
 * Returns the changelog with a version and a date above the changes that were unreleased.
 *
 * @param {string} changelog
 * @param {string} version
 * @param {string} date - such as 2026-11-24
 * @returns {string}
 */
export function released(changelog, version, date) {
  const headings = changelog.match(/^#+.*unreleased.*$/gim) ?? [];
  if (headings.length !== 1 || headings[0] !== UNRELEASED) {
    const found = headings.map((heading) => `"${heading}"`).join(', ') || 'none';
    throw new Error(`CHANGELOG.md: expected the heading "${UNRELEASED}" once, found ${found}`);
  }
  if (changelog.includes(`\n## [${version}]`)) throw new Error(`CHANGELOG.md has version ${version} already`);
  if (sectionOf(changelog, 'Unreleased') === '')
    throw new Error(`CHANGELOG.md has nothing below ${UNRELEASED}`);
  return changelog.replace(/^## \[Unreleased\]$/m, () => `${UNRELEASED}\n\n## [${version}] - ${date}`);
}

/**
 * Returns the changelog with a link at its end to the changes of each version. These links replace the former ones.
 *
 * @param {string} changelog
 * @param {string} repository - the repository's address
 */
export function linked(changelog, repository) {
  const versions = [...changelog.matchAll(/^## \[(\d[^\]]*)\]/gm)].map(([, version]) => version);
  if (versions.length === 0) return changelog;
  const addresses = versions.map((version, index) => {
    const before = versions[index + 1];
    const range = before === undefined ? `releases/tag/v${version}` : `compare/v${before}...v${version}`;
    return `[${version}]: ${repository}/${range}\n`;
  });
  const newest = `[Unreleased]: ${repository}/compare/v${versions[0]}...HEAD\n`;
  return `${changelog.replace(ADDRESSES, '').trimEnd()}\n\n${newest}${addresses.join('')}`;
}

/** The changes in a version, without the heading. @param {string} changelog @param {string} version */
export function sectionOf(changelog, version) {
  const sections = changelog.split(/^(?=## )/m);
  const section = sections.find((each) => each.startsWith(`## [${version}]`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no version ${version}`);
  return section.replace(/^.*\n/, '').replace(ADDRESSES, '').trim();
}

/** Returns the source that declares the version, with this version in it. @param {string} source @param {string} version */
export function versioned(source, version) {
  const line = /^(export const VERSION = ')[^']*(';)$/m;
  if (!line.test(source)) throw new Error(`${VERSION_FILE}: expected a line "export const VERSION = '…';"`);
  return source.replace(line, (_line, start, end) => `${start}${version}${end}`);
}

if (process.argv[1] === import.meta.filename) {
  const root = join(import.meta.dirname, '..');
  const [changelogFile, versionFile] = [join(root, 'CHANGELOG.md'), join(root, VERSION_FILE)];
  const { version, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const changelog = readFileSync(changelogFile, 'utf8');
  if (process.argv.includes('--notes')) console.log(sectionOf(changelog, version));
  else {
    const address = repository.url.replace(/^git\+|\.git$/g, '');
    const text = linked(released(changelog, version, new Date().toISOString().slice(0, 10)), address);
    const source = versioned(readFileSync(versionFile, 'utf8'), version);
    writeFileSync(changelogFile, text);
    writeFileSync(versionFile, source);
  }
}

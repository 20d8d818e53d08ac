import { describe, expect, it } from 'vitest';
import { linked, released, sectionOf, versioned } from './release.mjs';

const CHANGELOG =
  '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- $& this\n\n## [0.1.0] - 2026-01-02\n\n- that\n';
const REPOSITORY = 'https://github.com/conclave-js/conclave';

describe('the changelog at a release', () => {
  it('gives what is unreleased a version, and leaves room for what comes next', () => {
    const text = released(CHANGELOG, '0.2.0', '2026-11-24');
    expect(text).toBe(
      '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-24\n\n### Added\n\n- $& this\n\n## [0.1.0] - 2026-01-02\n\n- that\n',
    );
    expect(sectionOf(text, '0.2.0')).toBe('### Added\n\n- $& this');
    expect(sectionOf(text, '0.1.0')).toBe('- that');
  });

  it('refuses a version that was released, and a release of nothing', () => {
    expect(() => released(CHANGELOG, '0.1.0', '2026-11-24')).toThrow('already');
    const empty = released(CHANGELOG, '0.2.0', '2026-11-24');
    expect(() => released(empty, '0.3.0', '2026-11-24')).toThrow('nothing');
    expect(() => sectionOf(CHANGELOG, '9.9.9')).toThrow('no version 9.9.9');
    expect(() => released(linked(empty, REPOSITORY), '0.3.0', '2026-11-24')).toThrow('nothing');
    const first = '# Changelog\n\n## [Unreleased]\n\n[Unreleased]: https://github.com/\n';
    expect(() => released(first, '0.1.0', '2026-11-24')).toThrow('nothing');
  });

  it.each([
    ['## Unreleased', 'found "## Unreleased"'],
    ['## [unreleased]', 'found "## [unreleased]"'],
    ['## [Unreleased] ', 'found "## [Unreleased] "'],
    ['### [Unreleased]', 'found "### [Unreleased]"'],
    ['## [Unreleased]\n\n- this\n\n## [Unreleased]', 'found "## [Unreleased]", "## [Unreleased]"'],
    ['## Next', 'found none'],
  ])('refuses another heading than the one it looks for: %j', (heading, found) => {
    const text = CHANGELOG.replace('## [Unreleased]', heading);
    expect(() => released(text, '0.2.0', '2026-11-24')).toThrow(
      `CHANGELOG.md: expected the heading "## [Unreleased]" once, ${found}`,
    );
  });

  it('keeps mentions of the heading in the text as they are', () => {
    const text = CHANGELOG.replace(
      '# Changelog\n',
      '# Changelog\n\nNew lines go below `## [Unreleased]\n`.\n',
    );
    expect(released(text, '0.2.0', '2026-11-24')).toContain(
      '`## [Unreleased]\n`.\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-24\n\n### Added\n',
    );
  });

  it('ends with the address of each version, which its notes leave out', () => {
    const first = linked(CHANGELOG, REPOSITORY);
    expect(first).toBe(
      `${CHANGELOG}\n[Unreleased]: ${REPOSITORY}/compare/v0.1.0...HEAD\n[0.1.0]: ${REPOSITORY}/releases/tag/v0.1.0\n`,
    );
    expect(sectionOf(first, '0.1.0')).toBe('- that');
    const second = linked(released(first, '0.2.0', '2026-11-24'), REPOSITORY);
    expect(second.slice(second.indexOf('- that'))).toBe(
      [
        '- that\n',
        `[Unreleased]: ${REPOSITORY}/compare/v0.2.0...HEAD`,
        `[0.2.0]: ${REPOSITORY}/compare/v0.1.0...v0.2.0`,
        `[0.1.0]: ${REPOSITORY}/releases/tag/v0.1.0\n`,
      ].join('\n'),
    );
    expect(linked(second, REPOSITORY)).toBe(second);
  });

  it('has no addresses before the first version, and keeps those of other links', () => {
    const text = '# Changelog\n\n## [Unreleased]\n\n- [this][docs]\n\n[docs]: https://example.org/\n';
    expect(linked(text, REPOSITORY)).toBe(text);
    expect(sectionOf(text, 'Unreleased')).toBe('- [this][docs]\n\n[docs]: https://example.org/');
  });
});

describe('the version in the sources at a release', () => {
  it('becomes the one of package.json', () => {
    expect(versioned("/** It. */\nexport const VERSION = '0.1.0';\n", '0.2.0')).toBe(
      "/** It. */\nexport const VERSION = '0.2.0';\n",
    );
  });

  it('is asked for if it is missing', () => {
    expect(() => versioned('export const version = 1;\n', '0.2.0')).toThrow('src/public-class/version.ts');
  });
});

import { describe, expect, it } from 'vitest';
import { released, sectionOf } from './release.mjs';

const CHANGELOG =
  '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- $& this\n\n## [0.1.0] - 2026-01-02\n\n- that\n';

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
  });
});

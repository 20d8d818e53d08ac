import { describe, expect, it } from 'vitest';
import { isOpenToAll } from '../../src/session/access.js';

const entry = (permissions: number, scheme = 'world', id = 'anyone') => ({ scheme, id, permissions });

describe('a path is open to all', () => {
  it.each([
    ['everything', [entry(31)], true],
    ['deleting', [entry(8)], true],
    ['writing', [entry(2)], true],
    ['changing who may', [entry(16)], true],
    ['deleting, after an entry that is harmless', [entry(1), entry(8)], true],
    ['reading and creating', [entry(1 | 4)], false],
    ['nothing', [], false],
  ])('if everybody may do %s: %j → %s', (_, access, open) => {
    expect(isOpenToAll(access)).toBe(open);
  });

  it('is not so if only some may do everything', () => {
    expect(isOpenToAll([entry(31, 'digest', 'alice:x'), entry(31, 'ip', '10.0.0.1')])).toBe(false);
  });
});

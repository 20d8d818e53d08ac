import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../../src/errors.js';
import { checkAccess, entriesOf, isOpenToAll } from '../../../../src/session/protocol/acl.js';

const READER = { scheme: 'ip', id: '10.0.0.1', permissions: 1 };

describe('who may touch a node', () => {
  it('is sent to the servers as a list', () => {
    expect(entriesOf('world')).toEqual([{ scheme: 'world', id: 'anyone', permissions: 31 }]);
    expect(entriesOf('creator')).toEqual([{ scheme: 'auth', id: '', permissions: 31 }]);
    expect(entriesOf([READER])).toEqual([READER]);
  });

  it('is open to all only where it says so', () => {
    expect(isOpenToAll('world')).toBe(true);
    expect(isOpenToAll('creator')).toBe(false);
    expect(isOpenToAll([{ scheme: 'digest', id: 'anyone', permissions: 31 }])).toBe(false);
    expect(isOpenToAll([{ scheme: 'world', id: 'nobody', permissions: 31 }])).toBe(false);
  });

  it.each([
    'world',
    'creator',
    [READER],
    [READER, { scheme: 'digest', id: 'alice:x', permissions: 31 }],
    [{ scheme: 'auth', id: '', permissions: 31 }],
  ])('may be %j', (access) => {
    expect(checkAccess(access, undefined)).toEqual(access);
  });

  it('stays what it was when it was given', () => {
    const given = [{ ...READER }];
    const checked = checkAccess(given, undefined);
    for (const entry of given) entry.permissions = 31;
    given.length = 0;
    expect(checked).toEqual([READER]);
  });

  it('has a default', () => {
    expect(checkAccess(undefined, 'creator')).toBe('creator');
    expect(checkAccess(undefined, undefined)).toBeUndefined();
  });

  it.each([
    '',
    'everybody',
    null,
    31,
    [],
    ['world'],
    [null],
    [READER, undefined],
    { ...READER },
    { length: 1, 0: READER },
    [{ ...READER, scheme: '' }],
    [{ ...READER, scheme: 7 }],
    [{ ...READER, id: 7 }],
    [{ scheme: 'ip', permissions: 1 }],
    [{ ...READER, permissions: 0 }],
    [{ ...READER, permissions: -1 }],
    [{ ...READER, permissions: 32 }],
    [{ ...READER, permissions: 1.5 }],
    [{ ...READER, permissions: '1' }],
  ])('is refused as %j, which no server would take', (access) => {
    expect(() => checkAccess(access, 'world')).toThrow(InvalidOptionError);
    expect(() => checkAccess(access, 'world')).toThrow(
      /^access is .*'world', 'creator' or a list of|^access\[0\].permissions is .* from 1 to 31/,
    );
  });
});

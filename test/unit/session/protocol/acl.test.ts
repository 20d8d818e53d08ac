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
  ])('if all clients may do %s: %j → %s', (_, access, open) => {
    expect(isOpenToAll(access)).toBe(open);
  });

  it.each([
    ['0.0.0.0/0', true],
    ['10.0.0.1/0', true],
    ['10.0.0.0/7', true],
    ['10.0.0.0/8', false],
    ['10.0.0.0/32', false],
    ['10.0.0.1', false],
    ['10.0.0.1/', true],
    ['10.0.0.1/+0', true],
    ['10.0.0.1/x', true],
    ['::/0', true],
    ['2000::/3', true],
    ['fc00::/7', false],
    ['::1', false],
  ])('if a network is that of all clients: ip:%s → %s', (id, open) => {
    expect(isOpenToAll([entry(8, 'ip', id)])).toBe(open);
    expect(isOpenToAll([entry(1 | 4, 'ip', id)])).toBe(false);
    expect(isOpenToAll([entry(8, 'digest', id)])).toBe(false);
  });

  it('as the access world, and not as creator, or if only some may do everything', () => {
    expect(isOpenToAll('world')).toBe(true);
    expect(isOpenToAll('creator')).toBe(false);
    expect(isOpenToAll([entry(31, 'digest', 'anyone'), entry(31, 'world', 'nobody')])).toBe(false);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../src/errors.js';
import { Chroot } from '../../../src/session/chroot.js';
import { checkData, checkPart, checkVersion } from '../../../src/session/operation-arguments.js';
import type { TransactionPart } from '../../../src/session/protocol/multi-and-stats.js';

const chroot = new Chroot('/app');

describe('the data of an operation', () => {
  it('are copied: the caller may change its own', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (given) => {
        const data = checkData(given);
        const before = Buffer.from(given);
        given.fill(0);
        expect(data).toEqual(before);
      }),
    );
  });

  it('are refused if they are no bytes, or more than a server takes', () => {
    for (const wrong of ['text', null, undefined, [1, 2], { length: 1 }])
      expect(() => checkData(wrong as unknown as Uint8Array)).toThrow(InvalidOptionError);
    expect(checkData(new Uint8Array(1_043_575))).toHaveLength(1_043_575);
    expect(() => checkData(new Uint8Array(1_043_576))).toThrow('1043576 bytes long');
  });
});

it('the version of an operation is a signed 32-bit number, by default the one that fits any version', () => {
  fc.assert(fc.property(fc.integer(), (version) => checkVersion(version) === version));
  expect(checkVersion(undefined)).toBe(-1);
  for (const wrong of [2 ** 31, -(2 ** 31) - 1, 0.5, Number.NaN, '1', null])
    expect(() => checkVersion(wrong as number)).toThrow(InvalidOptionError);
});

describe('a part of a transaction', () => {
  const data = Buffer.from('x');
  it.each<[TransactionPart, object]>([
    [{ kind: 'check', path: '/a' }, { version: -1 }],
    [{ kind: 'delete', path: '/a', version: 3 }, { version: 3 }],
    [
      { kind: 'set', path: '/a', data },
      { data, version: -1 },
    ],
    [
      { kind: 'create', path: '/a' },
      { mode: 'persistent', data: Buffer.alloc(0) },
    ],
  ])('gets its absolute path, and what was left out: %j', (part, more) => {
    expect(checkPart(part, chroot)).toEqual({ kind: part.kind, path: '/app/a', ...more });
  });

  it('is refused if anything in it is wrong', () => {
    const wrong: unknown[] = [
      null,
      'check',
      { kind: 'read', path: '/a' },
      { kind: 'check', path: 'a' },
      { kind: 'check', path: '/a', version: 0.5 },
      { kind: 'set', path: '/a' },
      { kind: 'create', path: '/a', mode: 'container' },
      { kind: 'create', path: '/a', data: 'text' },
    ];
    for (const part of wrong)
      expect(() => checkPart(part as TransactionPart, chroot)).toThrow(InvalidOptionError);
  });
});

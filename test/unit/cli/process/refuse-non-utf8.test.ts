import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../../src/cli/process/exit-codes.js';
import { changedVariables, checkWords } from '../../../../src/cli/process/refuse-non-utf8.js';

/** As Linux shows a process's words: a zero byte ends each. */
const shown = (...words: (string | Buffer)[]) =>
  Buffer.concat(words.flatMap((word) => [Buffer.from(word as string), Buffer.alloc(1)]));
const LATIN = Buffer.from('caf\xe9', 'latin1');

describe('the words of a command line', () => {
  it('are refused if one isn’t UTF-8, by its place', () => {
    const check = () =>
      checkWords(['run', '', String(LATIN)], () => shown('/usr/bin/node', 'main.js', 'run', '', LATIN));
    expect(check).toThrow(expect.objectContaining({ exitCode: EXIT.usage }));
    expect(check).toThrow(/^argument 3 of the command line isn't UTF-8/);
  });

  it('may have the character that Node puts in place of others', () => {
    expect(() => checkWords(['run', '\uFFFD'], () => shown(LATIN, 'run', '\uFFFD'))).not.toThrow();
  });

  it('are taken as they are where the system doesn’t show their bytes', () => {
    expect(() => checkWords(['run', String(LATIN)], () => Buffer.alloc(0))).not.toThrow();
  });

  it('are looked at only if one can have been changed', () => {
    const commandLine = () => {
      throw new Error('was read');
    };
    expect(() => checkWords([], commandLine)).not.toThrow();
    expect(() => checkWords(['run', 'ü'], commandLine)).not.toThrow();
  });
});

describe('the environment', () => {
  it('names the variables that a command gets changed', () => {
    const variables = { GOOD: 'ü', MARK: '\uFFFD', LATIN: String(LATIN) };
    const environment = Buffer.concat([
      shown('GOOD=ü', 'MARK=\uFFFD'),
      shown(Buffer.concat([Buffer.from('LATIN='), LATIN])),
    ]);
    expect(changedVariables(variables, () => environment)).toEqual(['LATIN']);
  });

  it('isn’t read if no variable can have been changed', () => {
    const environment = () => {
      throw new Error('was read');
    };
    expect(changedVariables({ GOOD: 'ü' }, environment)).toEqual([]);
  });
});

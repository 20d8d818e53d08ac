import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../../../src/cli/process/exit-codes.js';
import { checkExecutable } from '../../../../src/cli/process/find-command-in-path.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';

const folder = temporaryFolder(afterAll);
const [locked, open] = [join(folder, 'locked'), join(folder, 'open')];
for (const each of [locked, open]) {
  mkdirSync(each);
  writeFileSync(join(each, 'program'), '#!/bin/sh\n', { mode: 0o755 });
}
writeFileSync(join(open, 'text'), '', { mode: 0o644 });
chmodSync(folder, 0o755);
chmodSync(locked, 0o000);

afterAll(() => {
  chmodSync(locked, 0o755);
});

/** Root may enter any folder. */
function asOrdinaryUser(act: () => void): void {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    act();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

const check = (command: string, ...folders: string[]) => {
  asOrdinaryUser(() => checkExecutable(command, folders.join(':')));
};

describe('a command', () => {
  it('is found behind a folder in PATH that this user may not enter', () => {
    expect(() => check('program', locked, open)).not.toThrow();
  });

  it('that is in no other folder of PATH does not exist for this user', () => {
    expect(() => check('program', locked)).toThrow(expect.objectContaining({ exitCode: EXIT.notFound }));
  });

  it('can’t be executed if its path leads through a folder that this user may not enter', () => {
    const exitCode = EXIT.notExecutable;
    expect(() => check(join(locked, 'program'))).toThrow(expect.objectContaining({ exitCode }));
  });

  it('can’t be executed if it is no program', () => {
    const exitCode = EXIT.notExecutable;
    expect(() => check('text', open)).toThrow(expect.objectContaining({ exitCode }));
    expect(() => check(join(open, 'text'))).toThrow(expect.objectContaining({ exitCode }));
  });

  it.each([
    ['empty', ''],
    ['in no folder of PATH', 'missing'],
    ['below a file', '/dev/null/program'],
    ['a folder', open],
    ['longer than any path', 'p'.repeat(5000)],
  ])('that is %s does not exist', (_, command) => {
    expect(() => check(command, open)).toThrow(expect.objectContaining({ exitCode: EXIT.notFound }));
  });
});

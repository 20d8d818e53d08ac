/** Compiles `src/` to `dist/`, from nothing: what was renamed or removed doesn't linger. */
import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** @param {{ checked?: boolean }} [options] whether wrong types are an error: what is built is the same, in half the time */
export function build({ checked = true } = {}) {
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const emit = (/** @type {string[]} */ ...options) =>
    execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json'), ...options], {
      cwd: root,
      stdio: 'inherit',
    });
  // What editors show to people keeps its comments; what is read at each start of a process doesn't need them.
  emit('--declaration', '--emitDeclarationOnly', ...(checked ? [] : ['--noCheck']));
  emit('--removeComments', '--noCheck');
  // npm sets it where it installs the command; a link to this folder, or a shell in it, needs it from here.
  chmodSync(join(root, 'dist/cli/main.js'), 0o755);
}

if (process.argv[1] === import.meta.filename) build();

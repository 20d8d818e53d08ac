/** Compiles `src/` to `dist/`, from nothing: what was renamed or removed doesn't linger. */
import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './bundle.mjs';

const root = join(import.meta.dirname, '..');

/** @param {{ checked?: boolean }} [options] whether wrong types are an error: what is built is the same, in half the time */
export async function build({ checked = true } = {}) {
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  // What editors show to people: a file for each source, with its comments.
  const options = ['--declaration', '--emitDeclarationOnly', ...(checked ? [] : ['--noCheck'])];
  execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json'), ...options], {
    cwd: root,
    stdio: 'inherit',
  });
  await bundle();
  // npm sets it where it installs the command; a link to this folder, or a shell in it, needs it from here.
  chmodSync(join(root, 'dist/cli/main.js'), 0o755);
}

if (process.argv[1] === import.meta.filename) await build();

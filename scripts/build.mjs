/** Compiles `src/` to `dist/`, from nothing: what was renamed or removed doesn't linger. */
import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

export function build() {
  rmSync(join(root, 'dist'), { recursive: true, force: true });
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json')], {
    cwd: root,
    stdio: 'inherit',
  });
  // npm sets it where it installs the command; a link to this folder, or a shell in it, needs it from here.
  chmodSync(join(root, 'dist/cli/main.js'), 0o755);
}

if (process.argv[1] === import.meta.filename) build();

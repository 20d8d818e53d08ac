/** Compiles `src/` to `dist/`, from nothing: what was renamed or removed doesn't linger. */
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './build/bundle.mjs';
import { declare } from './build/declarations.mjs';
import { BUILT } from './build/sources.mjs';

/** @param {{ checked?: boolean }} [options] whether wrong types are an error: what is built is the same, in half the time */
export async function build({ checked = true } = {}) {
  rmSync(BUILT, { recursive: true, force: true });
  await declare(await bundle(), { checked });
  // npm sets it where it installs the command; a link to this folder, or a shell in it, needs it from here.
  chmodSync(join(BUILT, 'cli/main.js'), 0o755);
}

if (process.argv[1] === import.meta.filename) await build();

/** Builds `dist/` from `src/`. Removes the former `dist/` first, so that no renamed or removed file stays in it. */
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './build/bundle.mjs';
import { declare } from './build/declarations.mjs';
import { BUILT } from './build/sources.mjs';

/**
 * @param {{ checked?: boolean }} [options] `checked`: whether type errors fail the build. Without the check, the build gives the
 *   same output in half the time
 */
export async function build({ checked = true } = {}) {
  rmSync(BUILT, { recursive: true, force: true });
  await declare(await bundle(), { checked });
  // npm makes the command executable where npm installs it. A link to this folder, or a shell in it, needs an executable file here.
  chmodSync(join(BUILT, 'cli/main.js'), 0o755);
}

if (process.argv[1] === import.meta.filename) await build();

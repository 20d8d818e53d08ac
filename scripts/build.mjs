/** Builds `dist/` from `src/`. Removes the former `dist/` first, so that no renamed or removed file stays in it. */
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './build/bundle.mjs';
import { declare } from './build/declarations.mjs';
import { BUILT } from './build/sources.mjs';

/**
 * @param {{ declarations?: boolean, checked?: boolean }} [options] `declarations`: whether to write them, too. They take as long as the
 *   rest, and need the dependencies of the set `declarations`. `checked`: whether type errors fail the build; without the check, the
 *   declarations are the same and take half the time
 */
export async function build({ declarations = true, checked = true } = {}) {
  rmSync(BUILT, { recursive: true, force: true });
  const exported = await bundle();
  if (declarations) await declare(exported, { checked });
  // npm makes the command executable where npm installs it. A link to this folder, or a shell in it, needs an executable file here.
  chmodSync(join(BUILT, 'cli/main.js'), 0o755);
}

if (process.argv[1] === import.meta.filename) await build();

/**
 * Looks at Conclave as its users get it: packs it, puts it into folders of consumers outside of this project, compiles
 * programs of theirs against its declarations, and runs what bundlers make of them.
 *
 *     node scripts/package-check.mjs [FOLDER]     of the package, by default this project's
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bundles } from './package/bundles.mjs';
import { runChecks } from './package/checks.mjs';
import { compilations } from './package/compilers.mjs';
import { installFromTarball } from './package/consumer.mjs';

const source = resolve(process.argv[2] ?? join(import.meta.dirname, '..'));
const temporary = mkdtempSync(join(tmpdir(), 'conclave-consumers-'));
try {
  /** @param {string} name */
  const folderFor = (name) => {
    const folder = join(temporary, name);
    mkdirSync(folder);
    return folder;
  };
  const installed = folderFor('installed');
  installFromTarball(source, installed);
  const checks = [...compilations(installed, folderFor), ...bundles(installed, folderFor)];
  process.exitCode = (await runChecks(checks, console.log)) > 0 ? 1 : 0;
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

/**
 * Checks the package as users get it. Packs it, checks the tarball with publint and attw, installs it into folders outside of this
 * project, counts its exports, options and commands, compiles programs against its declarations as users do, and bundles and runs programs. npm installs it beside old and new packages.
 *
 *     node scripts/package-check.mjs [FOLDER]     the package's folder, by default this project
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { installations } from './package/beside.mjs';
import { bundles } from './package/bundles.mjs';
import { runChecks } from './package/checks.mjs';
import { compilations } from './package/compilers.mjs';
import { installFromTarball } from './package/consumer.mjs';
import { counts } from './package/counts.mjs';
import { linters } from './package/linters.mjs';

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
  const tarball = installFromTarball(source, installed);
  const checks = [
    ...linters(tarball, installed),
    ...counts(join(installed, 'node_modules/conclave')),
    ...compilations(installed, folderFor),
    ...bundles(installed, folderFor),
    ...installations(tarball, folderFor),
  ];
  process.exitCode = (await runChecks(checks, console.log)) > 0 ? 1 : 0;
} finally {
  rmSync(temporary, { recursive: true, force: true });
}

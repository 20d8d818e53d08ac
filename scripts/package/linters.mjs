import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brokenLinksIn } from '../docs/links.mjs';

/** @typedef {import('./checks.mjs').Check} Check */

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
/** The fields that npm's page of a package shows. */
const LINKS = ['homepage', 'repository', 'bugs', 'license', 'description'];

/**
 * Checks the files of the package without running them.
 *
 * @param {string} tarball
 * @param {string} installed - a user's folder in which the package is installed
 * @returns {Check[]}
 */
export function linters(tarball, installed) {
  return [
    {
      name: 'publint finds nothing, not even a suggestion',
      check: async () => {
        const { publint } = await import('publint');
        const { formatMessage } = await import('publint/utils');
        const bytes = readFileSync(tarball);
        const options = { pack: { tarball: new Uint8Array(bytes).buffer }, strict: true };
        const { messages, pkg = {} } = await publint(options);
        refuse(messages.map((message) => formatMessage(message, pkg) ?? message.code));
      },
    },
    {
      name: 'attw finds the types of each subpath right, for ES modules',
      check: async () => {
        const attw = join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js');
        await run(process.execPath, [
          attw,
          tarball,
          '--profile',
          'esm-only',
          '--no-color',
          '--no-emoji',
        ]).catch(({ stdout }) => refuse([stdout]));
      },
    },
    {
      name: 'package.json says where the project is, and the README links only to published files',
      check: async () => {
        const folder = join(installed, 'node_modules/conclave');
        const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
        refuse(LINKS.filter((field) => !manifest[field]).map((field) => `package.json has no ${field}`));
        refuse(
          ['README.md', 'LICENSE', 'CHANGELOG.md']
            .filter((file) => !existsSync(join(folder, file)))
            .map((file) => `${file} is missing`),
        );
        refuse(brokenLinksIn(['README.md'], { root: folder }));
      },
    },
  ];
}

/** @param {readonly string[]} problems */
function refuse(problems) {
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

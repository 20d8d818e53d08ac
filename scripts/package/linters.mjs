import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brokenLinksIn } from '../docs/links.mjs';
import { refuse } from './checks.mjs';

/** @typedef {import('./checks.mjs').Check} Check */

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);
/** A page of the documentation that code or its declarations name. */
const PAGE = /\bdocs\/[\w/-]+\.md\b/g;
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
      name: 'package.json says where the project is, and the pages that published files name are published',
      check: async () => {
        const folder = join(installed, 'node_modules/conclave');
        const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
        refuse(LINKS.filter((field) => !manifest[field]).map((field) => `package.json has no ${field}`));
        refuse(
          ['README.md', 'LICENSE', 'CHANGELOG.md']
            .filter((file) => !existsSync(join(folder, file)))
            .map((file) => `${file} is missing`),
        );
        const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
        const examples = files.filter((file) => /^examples\/.*\.md$/.test(file));
        refuse(brokenLinksIn(['README.md', ...examples], { root: folder }));
        const code = files.filter((file) => /^dist\/.*\.(js|ts)$/.test(file));
        const named = [...code, ...examples].flatMap(
          (file) => readFileSync(join(folder, file), 'utf8').match(PAGE) ?? [],
        );
        if (named.length === 0)
          throw new Error('no published file names a page: does the check look for the right ones?');
        const missing = [...new Set(named)].filter((page) => !existsSync(join(folder, page)));
        refuse(missing.map((page) => `${page} is named and not published`));
      },
    },
  ];
}

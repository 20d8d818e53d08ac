/**
 * Builds some pages of the documentation's site. All pages would take twice as long.
 *
 *     node test/browser/support/site-of-pages.mjs FOLDER PAGE…
 */
import { join } from 'node:path';
import { build } from 'vitepress';

const [outDir, ...pages] = process.argv.slice(2);

await build(join(import.meta.dirname, '../../../docs'), {
  outDir,
  onAfterConfigResolve: (config) => {
    config.pages = config.pages.filter((page) => pages.includes(page));
    config.ignoreDeadLinks = true; // Most links lead to pages that are left out.
  },
});

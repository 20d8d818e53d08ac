/**
 * Builds one page of the documentation's site. All pages would take twice as long.
 *
 *     node test/browser/support/one-page-site.mjs PAGE FOLDER
 */
import { join } from 'node:path';
import { build } from 'vitepress';

const [page, outDir] = process.argv.slice(2);

await build(join(import.meta.dirname, '../../../docs'), {
  outDir,
  onAfterConfigResolve: (config) => {
    config.pages = config.pages.filter((each) => each === page);
    config.ignoreDeadLinks = true; // Most links lead to pages that are left out.
  },
});

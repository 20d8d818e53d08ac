import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { execaNode } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';
import { useChromium } from './support/chromium.js';

const DOCS = join(import.meta.dirname, '../../docs');
/** The pages with diagrams, and how many each has. */
const PAGES = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
  .map((name) => [`docs/${name}`, diagramsIn(readFileSync(join(DOCS, name), 'utf8'))] as const)
  .filter(([, count]) => count > 0);
/** A page that links to files of the project. */
const WITH_FILES = 'src/election/README.md';
const SAFETY = 'docs/safety';
const API = '<!doctype html><title>typedoc</title><p>Every symbol</p>';
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
};

/** How many diagrams a page draws. */
function diagramsIn(markdown: string): number {
  return markdown.match(/^```mermaid$/gm)?.length ?? 0;
}

const open = useChromium();
const folder = temporaryFolder(afterAll);
/** Serves the output of `npm run docs:build`, with the test's own page in place of typedoc's. */
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://site');
  if (pathname === '/api/') return void response.setHeader('content-type', 'text/html').end(API);
  if (pathname === '/favicon.ico') return void response.writeHead(204).end();
  const path = [pathname, `${pathname}.html`]
    .map((name) => join(folder, name))
    .find((name) => existsSync(name) && statSync(name).isFile());
  if (path === undefined) return void response.writeHead(404).end();
  response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream');
  response.end(readFileSync(path));
});
let url: string;

// Bundling Mermaid takes about 20 seconds, and minutes on a busy machine.
const PATIENCE_MS = 240_000;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // In a process of its own, because Vue takes its mode from the environment when Node loads it.
  await execaNode(join(import.meta.dirname, 'support/site-of-pages.mjs'), [
    folder,
    ...PAGES.map(([page]) => page),
    WITH_FILES,
  ]);
}, PATIENCE_MS);
afterAll(async () => {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
});

describe('the site of the documentation', () => {
  it('has a page about safety that shows a handover', async () => {
    const page = await open(`${url}/${SAFETY}`, { colorScheme: 'light' });
    const diagrams = page.locator('.vp-doc .diagram svg');
    await expect.poll(() => diagrams.count()).toBeGreaterThan(1);
    // Mermaid wraps text by the width of the machine's fonts, and a space is lost where it does.
    const text = (await diagrams.nth(1).textContent())?.replaceAll(/\s/g, '');
    expect(text).toContain('release:record=Bleadstermn+1');
  });

  it.each(PAGES)(
    'draws each diagram of %s, light and dark, and loads nothing from elsewhere',
    async (path, count) => {
      const page = await open(`${url}/${path.replace(/\.md$/, '')}`, { colorScheme: 'light' });
      const diagrams = page.locator('.vp-doc .diagram svg');
      await expect.poll(() => diagrams.count()).toBe(count);
      expect(await page.locator('.vp-doc svg[aria-roledescription=error]').count()).toBe(0);
      const light = await diagrams.nth(0).innerHTML();
      await page.emulateMedia({ colorScheme: 'dark' });
      await expect.poll(() => diagrams.nth(0).innerHTML()).not.toBe(light);
      const loaded = await page.evaluate(() =>
        performance.getEntriesByType('resource').map(({ name }) => name),
      );
      expect(loaded.length).toBeGreaterThan(0);
      expect(loaded.filter((name) => !name.startsWith(url))).toEqual([]);
    },
  );

  it('has the files that its pages link to, as text', () => {
    const linked = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.html'))
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').match(/(?<=href=")\/files\/[^"]*/g) ?? []);
    expect(linked).toContain('/files/src/election/decide-next-step.ts.txt');
    expect(linked.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
  });

  it('leaves the link to the API reference to the browser', async () => {
    const page = await open(`${url}/${SAFETY}`);
    // The router works as soon as the page has drawn a diagram.
    await expect.poll(() => page.locator('.vp-doc .diagram svg').count()).toBeGreaterThan(0);
    await page.getByRole('link', { name: 'API reference' }).click();
    await expect.poll(() => page.title()).toBe('typedoc');
  });
});

import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { findChromium } from '../../../tools/chromium/program.mjs';

/** A wall: the size of a full-HD screen. */
export const WALL = { width: 1920, height: 1080 };

/** One Chromium for all tests of a file. Each page is in a context of its own: no storage and no cache are shared. */
export function useChromium() {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: findChromium(),
      // As root there is no sandbox. The pages are the tests' own.
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    });
  });
  afterAll(async () => {
    await browser?.close();
  });
  /** Opens a page. The test fails if it has logged an error, which a violation of the policy is too, unless it says which. */
  return async (url: string, options: BrowserContextOptions & { expected?: RegExp } = {}): Promise<Page> => {
    const { expected, ...contextOptions } = options;
    if (browser === undefined) throw new Error('there is no browser before the tests begin');
    const context = await browser.newContext({ viewport: WALL, ...contextOptions });
    const page = await context.newPage();
    // What isn't there yet is polled for by the tests. Playwright's own waiting would take all of a test's time.
    page.setDefaultTimeout(15_000);
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    onTestFinished(async () => {
      await context.close();
      expect(errors.filter((error) => expected?.test(error) !== true)).toEqual([]);
    });
    await page.goto(url);
    return page;
  };
}

import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { findChromium } from '../../../tools/chromium/program.mjs';

/** The size of a full-HD screen on a wall. */
const WALL = { width: 1920, height: 1080 };

/** Runs one Chromium for all tests of a file. Each page has a context of its own, so pages share no storage and no cache. */
export function useChromium() {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: findChromium(),
      // Chromium has no sandbox for root. That is safe, because the pages are the tests' own.
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    });
  });
  afterAll(async () => {
    await browser?.close();
  });
  /**
   * Opens a page. The test fails if the page logs an error that `expected` doesn't match. A violation of the
   * Content-Security-Policy is such an error.
   */
  return async (url: string, options: BrowserContextOptions & { expected?: RegExp } = {}): Promise<Page> => {
    const { expected, ...contextOptions } = options;
    if (browser === undefined) throw new Error('there is no browser before the tests begin');
    const context = await browser.newContext({ viewport: WALL, ...contextOptions });
    const page = await context.newPage();
    // The tests themselves poll for missing content. Playwright's own default would wait for as long as a test may take.
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

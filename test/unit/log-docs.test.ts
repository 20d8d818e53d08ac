import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { logMessagesIn } from './log-messages.js';
import { readModules, SOURCES } from './structure.js';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/operations/logs.md'), 'utf8');

/** The rows of the page's tables: the level, and the message between backquotes. */
const documented = [...PAGE.matchAll(/^\| (debug|info|warn|error) \| `([^`]+)` \|/gm)].map(
  ([, level, message]) => `${level}: ${message}`,
);
/** The messages in the sources. The page can't have a backquote between backquotes, so an apostrophe replaces it. */
const logged = readModules(SOURCES)
  .flatMap(logMessagesIn)
  .map(({ level, message }) => `${level}: ${message.replaceAll('`', "'")}`);

describe('docs/operations/logs.md', () => {
  it('has each message that is logged, at its level, and no other', () => {
    expect(logged.length).toBeGreaterThan(50);
    expect([...documented].sort()).toEqual([...new Set(logged)].sort());
  });

  it('has each once', () => {
    expect(new Set(documented).size).toBe(documented.length);
  });
});

describe('the search for what is logged', () => {
  const read = (text: string) =>
    logMessagesIn({ file: 'a.ts', text }).map(({ level, message }) => `${level}: ${message}`);

  it('finds literals, templates, constants, choices, and what is handed on', () => {
    expect(read("logger.info({}, 'a'); this.#logger.warn({}, `b $" + '{c} d`);')).toEqual([
      'info: a',
      'warn: b … d',
    ]);
    expect(read("const MESSAGE = 'a' + 'b'; warnOfSetup(logger, {}, MESSAGE);")).toEqual(['warn: ab']);
    expect(read("logError(logger, error, is ? 'a' : 'b', this);")).toEqual(['error: a', 'error: b']);
  });

  it('takes a name for what it stands for there, and not for what it does elsewhere in the file', () => {
    const text = `
      function one() { const message = 'a'; logger.info({}, message); }
      function other() { const message = 'b'; return message; }`;
    expect(read(text)).toEqual(['info: a']);
  });

  it('overlooks no message that is handed on by a function it does not know', () => {
    expect(() => read('function tell(message) { logger.warn({}, message); }')).toThrow(
      'can not read the message',
    );
    expect(
      read("function report(error, message) { logger.error({}, message); } report(error, 'a');"),
    ).toEqual(['error: a']);
  });

  it('takes no other call for one', () => {
    expect(read("console.info('a'); this.report(error); spans.error({}, 'b');")).toEqual([]);
    expect(() => read('logger.info({}, made());')).toThrow('can not read the message made()');
  });
});

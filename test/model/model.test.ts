import { describe, expect, it } from 'vitest';
import { type Finding, search } from '../../tools/spin/search.mjs';
import type { Question } from './questions.mjs';
import { MODELS } from './searches.mjs';

function expectAsAsked({ breaks, reachesAll }: Question, finding: Finding): void {
  if (breaks !== undefined) {
    expect(finding).toMatchObject({ error: breaks });
    return;
  }
  expect(finding.error).toBeUndefined();
  expect(finding.complete).toBe(true);
  if (reachesAll) expect(finding.unreached).toEqual([]);
  expect(finding.states).toBeGreaterThan(50_000);
}

// A search computes for seconds, and so do the tests beside it. The project's timeout is long enough for that.
describe.concurrent.each(MODELS)('the model of $about', ({ path, quick }) => {
  const isRight = ({ breaks }: Question) => breaks === undefined;

  it.each(quick.filter(isRight))('holds in every state: $name, $property', async (asked) => {
    expectAsAsked(asked, await search(path, asked.search));
  });

  it.each(quick.filter((each) => !isRight(each)))('fails where $what ($name): $property', async (asked) => {
    expectAsAsked(asked, await search(path, asked.search));
  });
});

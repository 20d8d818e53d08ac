import { describe, expect, it } from 'vitest';
import { type Finding, search } from '../../tools/spin/search.mjs';
import { RUNS_ALL } from '../support/vitest/extent.js';
import type { Model, Question } from './questions.mjs';
import { digestOf, type RecordedFinding, recordedFindings, spinVersion } from './recorded.mjs';
import { MODELS } from './searches.mjs';

const recorded = recordedFindings();
const spin = spinVersion();

/** `found` is the finding that is recorded for the question, if it isn't to be asked again. */
type Case = Question & { readonly model: Model; readonly found: RecordedFinding | undefined };

function casesOf(model: Model): Case[] {
  // One search of each model always runs, so that the compiler and Spin are seen to work.
  const always = model.quick.find(({ breaks }) => breaks !== undefined);
  return model.quick.map((question) => {
    const found = recorded[digestOf(model, question, spin)];
    return { ...question, model, found: RUNS_ALL || question === always ? undefined : found };
  });
}

function expectAsAsked({ breaks, reachesAll }: Question, finding: Finding | RecordedFinding): void {
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
describe.concurrent.each(MODELS)('the model of $about', (model) => {
  const cases = casesOf(model);
  const [due, done] = [
    cases.filter(({ found }) => found === undefined),
    cases.filter(({ found }) => found !== undefined),
  ];
  const isRight = ({ breaks }: Case) => breaks === undefined;

  it.each(due.filter(isRight))('holds in every state: $name, $property', async (asked) => {
    expectAsAsked(asked, await search(model.path, asked.search));
  });

  it.each(due.filter((each) => !isRight(each)))('fails where $what ($name): $property', async (asked) => {
    expectAsAsked(asked, await search(model.path, asked.search));
  });

  it.runIf(done.length > 0)(
    'has the expected finding recorded for each question that its text had before',
    () => {
      for (const asked of done) expectAsAsked(asked, asked.found as RecordedFinding);
    },
  );
});

import { describe, expect, it } from 'vitest';
import { search } from '../../tools/spin/search.mjs';
import { MODELS } from './searches.mjs';

// A search computes for seconds, and so do the tests beside it. The project's timeout is long enough for that.
describe.concurrent.each(MODELS)('the model of $about', ({ path, quick }) => {
  const own = quick.filter(({ breaks }) => breaks === undefined);
  const variants = quick.filter(({ breaks }) => breaks !== undefined);

  it.each(own)('holds in every state: $name, $property', async ({ search: how, reachesAll }) => {
    const finding = await search(path, how);
    expect(finding).toMatchObject({ error: undefined, complete: true });
    if (reachesAll) expect(finding.unreached).toEqual([]);
    expect(finding.states).toBeGreaterThan(50_000);
  });

  it.each(variants)('fails where $what ($name): $property', async ({ search: how, breaks }) => {
    expect(await search(path, how)).toMatchObject({ error: breaks });
  });
});

import { describe, expect, it } from 'vitest';
import { search } from '../../tools/spin/search.mjs';
import { MODEL, QUICK } from './searches.mjs';

// A search takes seconds of computing, and the tests beside it compute as well: the project gives them time enough.
describe.concurrent("the model of the election's recipe", () => {
  const own = QUICK.filter(({ breaks }) => breaks === undefined);
  const variants = QUICK.filter(({ breaks }) => breaks !== undefined);

  it.each(own)('holds in every state: $property', async ({ search: how, reachesAll }) => {
    const finding = await search(MODEL, how);
    expect(finding).toMatchObject({ error: undefined, complete: true });
    if (reachesAll) expect(finding.unreached).toEqual([]);
    expect(finding.states).toBeGreaterThan(50_000);
  });

  it.each(variants)('fails where $what ($name): $property', async ({ search: how, breaks }) => {
    expect(await search(MODEL, how)).toMatchObject({ error: breaks });
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Change } from '../../../src/session/protocol/requests.js';
import { CreationWatches, WatchRegistry } from '../../../src/session/watch-registry.js';

function setUp() {
  const calls: string[] = [];
  const watcher = (name: string) => ({ changed: (change: Change) => void calls.push(`${name} ${change}`) });
  return { registry: new WatchRegistry(), calls, watcher };
}

describe('the watches of a session', () => {
  it('notify all that wait at a path, once, and no other watcher', () => {
    const { registry, calls, watcher } = setUp();
    registry.add('/a', watcher('first'));
    registry.add('/a', watcher('second'));
    registry.add('/b', watcher('other'));
    registry.fire('/a', 'changed');
    registry.fire('/a', 'deleted');
    registry.fire('/unwatched', 'deleted');
    expect(calls).toEqual(['first changed', 'second changed']);
    expect([registry.has('/a'), registry.has('/b')]).toEqual([false, true]);
  });

  it('may be set anew by those that are notified', () => {
    const { registry, calls, watcher } = setUp();
    registry.add('/a', { changed: () => registry.add('/a', watcher('again')) });
    registry.fire('/a', 'changed');
    expect(calls).toEqual([]);
    registry.fire('/a', 'deleted');
    expect(calls).toEqual(['again deleted']);
  });

  it('are of no more interest to the server when the last one is taken back', () => {
    const { registry, calls, watcher } = setUp();
    const [first, second] = [watcher('first'), watcher('second')];
    registry.add('/a', first);
    registry.add('/a', second);
    expect(registry.remove('/a', first)).toBe(false);
    expect(registry.remove('/a', first)).toBe(false);
    expect(registry.has('/a')).toBe(true);
    expect(registry.remove('/a', second)).toBe(true);
    expect(registry.has('/a')).toBe(false);
    expect(registry.remove('/a', second)).toBe(false);
    expect(registry.remove('/never', second)).toBe(false);
    registry.fire('/a', 'changed');
    expect(calls).toEqual([]);
  });

  it('are gone when the session is over', () => {
    const { registry, calls, watcher } = setUp();
    registry.add('/a', watcher('first'));
    registry.clear();
    registry.fire('/a', 'changed');
    expect([calls, registry.has('/a'), registry.portions(100, 'data')]).toEqual([[], false, []]);
  });

  it('are set again in portions that are as few as can be, each within the limit if its paths are', () => {
    const limit = 100;
    const sizeOf = (paths: string[]) => paths.reduce((sum, path) => sum + 4 + Buffer.byteLength(path), 0);
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'grapheme', maxLength: 40 })), (paths) => {
        const { registry, watcher } = setUp();
        for (const path of paths) registry.add(path, watcher(path));
        const kinds = new Set(registry.portions(limit, 'children').map(({ kind }) => kind));
        expect([...kinds]).toEqual(paths.length > 0 ? ['children'] : []);
        const portions = registry.portions(limit, 'data').map((portion) => portion.paths);
        expect(portions.flat()).toEqual(paths);
        for (const [index, portion] of portions.entries()) {
          if (portion.length > 1) expect(sizeOf(portion)).toBeLessThanOrEqual(limit);
          const next = portions[index + 1]?.[0];
          if (next !== undefined) expect(sizeOf([...portion, next])).toBeGreaterThan(limit);
        }
      }),
    );
  });
});

describe('the watches for nodes that do not exist', () => {
  it('notify of a creation once, and not when they were taken back', () => {
    const watches = new CreationWatches();
    const calls: string[] = [];
    const [first, second] = [() => void calls.push('first'), () => void calls.push('second')];
    watches.add('/a', first);
    watches.add('/b', second);
    expect(watches.remove('/b', first)).toBe(false); // The watch at this path has another listener.
    expect(watches.remove('/b', second)).toBe(true);
    for (const path of ['/a', '/a', '/b', '/never']) watches.fire(path);
    expect([calls, watches.has('/a'), watches.has('/b')]).toEqual([['first'], false, false]);
    expect(watches.remove('/a', first)).toBe(false);
  });

  it('notify all that wait at a path, and are of no more interest to the server when the last one is taken back', () => {
    const watches = new CreationWatches();
    const calls: string[] = [];
    const call = (name: string) => () => void calls.push(name);
    const [first, second, third] = [call('first'), call('second'), call('third')];
    for (const each of [first, second, third]) watches.add('/a', each);
    expect(watches.remove('/a', second)).toBe(false);
    watches.fire('/a');
    expect([calls, watches.has('/a')]).toEqual([['first', 'third'], false]);
    for (const each of [first, second]) watches.add('/a', each);
    expect(watches.remove('/a', first)).toBe(false);
    expect(watches.remove('/a', first)).toBe(false);
    expect([watches.has('/a'), watches.remove('/a', second)]).toEqual([true, true]);
    watches.fire('/a');
    expect(calls).toEqual(['first', 'third']);
  });
});

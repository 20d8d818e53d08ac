import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { InvalidOptionError } from 'conclave';
import { LeaderRunCoordinator } from 'conclave/node-cron';
import { EmbeddedZooKeeper } from 'conclave/testing';
import { describe, expect, it } from 'vitest';

const BUILT = resolve(import.meta.dirname, '../../dist');

const read = (file: string) => readFileSync(join(BUILT, file), 'utf8');

/** The files that are loaded with one: all that it imports, but not what it imports when it is needed. */
function loadedWith(entry: string): string[] {
  const loaded = new Set([entry]);
  // A set is walked with what is added to it on the way.
  for (const file of loaded)
    for (const [, from] of read(file).matchAll(/^(?:import|export) [^;]*?"(\.[^"]+)";$/gm))
      loaded.add(relative(BUILT, resolve(BUILT, dirname(file), from as string)));
  return [...loaded].sort();
}

describe('what is built', () => {
  it('loads few files for those who import the package, and little for those who need little', () => {
    expect(loadedWith('index.js')).toEqual(['base.js', 'core.js', 'index.js', 'packages.cjs']);
    expect(loadedWith('node-cron/index.js')).toEqual([
      'base.js',
      'core.js',
      'node-cron/index.js',
      'packages.cjs',
    ]);
    expect(loadedWith('testing/index.js')).toEqual(['base.js', 'testing.js', 'testing/index.js']);
    expect(loadedWith('cluster/command/keeper.js')).not.toContain('core.js');
    expect(loadedWith('election/watchdog-thread.js')).toEqual(['election/watchdog-thread.js']);
  });

  it('has one copy of each class, whichever entry it comes from', async () => {
    const wrong = { port: -1 } as const;
    await expect(EmbeddedZooKeeper.start(wrong)).rejects.toBeInstanceOf(InvalidOptionError);
    expect(() => new LeaderRunCoordinator({} as never, 1 as never)).toThrow(InvalidOptionError);
  });

  it('finds each file that it starts or reads by its URL', () => {
    const files = readdirSync(BUILT, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.js'),
    );
    const asked = files.flatMap((file) =>
      [...read(file).matchAll(/new URL\(([^,]+), import\.meta\.url\)/g)].map(([, name]) =>
        resolve(BUILT, dirname(file), JSON.parse(name as string)),
      ),
    );
    expect(asked.map((path) => relative(BUILT, path)).sort()).toEqual([
      '../package.json',
      'cluster/command/keeper.js',
      'election/watchdog-thread.js',
    ]);
    expect(asked.filter((path) => !existsSync(path))).toEqual([]);
  });
});

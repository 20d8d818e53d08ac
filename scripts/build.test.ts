import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { InvalidOptionError } from 'conclave';
import * as heldTerm from 'conclave/held-term';
import { LeaderJobs } from 'conclave/jobs';
import { EmbeddedZooKeeper } from 'conclave/testing';
import { describe, expect, it } from 'vitest';
import { BUILT, PUBLIC_ENTRIES as ENTRIES } from './build/sources.mjs';
import { exportedFrom } from './package/exported.mjs';

const read = (file: string) => readFileSync(join(BUILT, file), 'utf8');

const filesOf = (ending: string) =>
  readdirSync(BUILT, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith(ending));

/** The files that Node loads with an entry: all static imports, but not the dynamic ones. */
function loadedWith(entry: string): string[] {
  const loaded = new Set([entry]);
  // The loop also visits the files that it adds to the set.
  for (const file of loaded)
    for (const [, from] of read(file).matchAll(/^(?:import|export) [^;]*?"(\.[^"]+)";$/gm))
      loaded.add(relative(BUILT, resolve(BUILT, dirname(file), from as string)));
  return [...loaded].sort();
}

describe('what is built', () => {
  it('loads few files for each entry, and only base for the light ones', () => {
    const shared = ['base.js', 'core.js', 'held-term.js'];
    expect(loadedWith('index.js')).toEqual([...shared, 'index.js'].sort());
    expect(loadedWith('jobs/index.js')).toEqual(
      [...shared, 'run-log.js', 'leader-jobs.js', 'jobs/index.js'].sort(),
    );
    expect(loadedWith('fence/index.js')).toEqual([...shared, 'fence/index.js'].sort());
    const forNest = loadedWith('jobs/index.js').filter((file) => file !== 'jobs/index.js');
    expect(loadedWith('nestjs/index.js')).toEqual([...forNest, 'nestjs/index.js'].sort());
    expect(loadedWith('dashboard/index.js')).toContain('dashboard/index.js');
    expect(loadedWith('metrics/index.js')).toEqual([...forNest, 'metrics/index.js'].sort());
    expect(loadedWith('kerberos/index.js')).toEqual(['base.js', 'held-term.js', 'kerberos/index.js']);
    expect(loadedWith('testing/index.js')).toEqual([
      'base.js',
      'held-term.js',
      'testing.js',
      'testing/index.js',
    ]);
    expect(loadedWith('cluster/run-command/keeper.js')).not.toContain('core.js');
  });

  it('loads 15 kB at most, and nothing of the session, with what a worker thread needs for a handle', () => {
    const files = loadedWith('held-term/index.js');
    expect(files).toEqual(['held-term.js', 'held-term/index.js']);
    const bytes = files.map((file) => statSync(join(BUILT, file)).size);
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(15_000);
    for (const file of files) expect(read(file)).not.toMatch(/class Session\b|node:(net|tls|events)|pino/);
  });

  it('loads the dashboard only where it is asked for', () => {
    const isOfDashboard = (file: string) =>
      /\b(class (Overview|DashboardServer|ReadSlots)|pageHtml)\b/.test(read(file));
    expect(loadedWith('dashboard/index.js').some(isOfDashboard)).toBe(true);
    for (const entry of ['index.js', 'jobs/index.js', 'testing/index.js', 'cluster/run-command/keeper.js'])
      expect(loadedWith(entry).filter(isOfDashboard)).toEqual([]);
    expect(
      loadedWith('cli/main.js').filter((file) => /\b(class DashboardServer|pageHtml)\b/.test(read(file))),
    ).toEqual([]);
  });

  it('loads nothing of the metrics with what does not measure', () => {
    const others = ENTRIES.filter((entry) => entry !== 'metrics/index');
    const files = new Set(others.flatMap((entry) => loadedWith(`${entry}.js`)));
    expect(read('metrics/index.js')).toContain('conclave_leader');
    for (const file of files) expect(read(file)).not.toContain('conclave_leader');
  });

  it('has one copy of each class in all entries', async () => {
    const wrong = { port: -1 } as const;
    await expect(EmbeddedZooKeeper.start(wrong)).rejects.toBeInstanceOf(InvalidOptionError);
    expect(() => new LeaderJobs({} as never, 1 as never)).toThrow(InvalidOptionError);
    expect(heldTerm.InvalidOptionError).toBe(InvalidOptionError);
  });

  it('contains each file that it starts or reads by URL', () => {
    const files = filesOf('.js');
    const asked = files.flatMap((file) =>
      [...read(file).matchAll(/new URL\(([^,]+), import\.meta\.url\)/g)].map(([, name]) =>
        resolve(BUILT, dirname(file), JSON.parse(name as string)),
      ),
    );
    expect(asked.map((path) => relative(BUILT, path))).toEqual(['cluster/run-command/keeper.js']);
    expect(asked.filter((path) => !existsSync(path))).toEqual([]);
  });

  it('neither opens files by URL nor requires modules in what users may bundle', () => {
    const files = new Set(ENTRIES.flatMap((entry) => loadedWith(`${entry}.js`)));
    expect(files.size).toBeGreaterThan(5);
    for (const file of files)
      expect(read(file)).not.toMatch(/new URL\([^)]*import\.meta|(?<![#.\w])require\(/);
  });

  it('imports each of its dependencies, and else only Nest, in the entry for Nest', () => {
    const files = filesOf('.js');
    const named = /^import (?:[^"\n]*from )?"((?!node:|\.)[^"]+)"|createRequire\(\w+\)\("([^"]+)"\)/gm;
    const importsIn = (file: string) => [...read(file).matchAll(named)].map(([, a, b]) => a ?? b);
    expect(importsIn('nestjs/index.js')).toEqual(['@nestjs/common']);
    const imported = files.filter((file) => file !== 'nestjs/index.js').flatMap(importsIn);
    const { dependencies } = JSON.parse(read('../package.json'));
    expect([...new Set(imported)].sort()).toEqual(Object.keys(dependencies).sort());
  });

  it('contains the licences of the packages that it inlines', () => {
    const licences = read('THIRD-PARTY-LICENSES.txt');
    for (const name of ['eventemitter3 5.', 'node-zookeeper-client 1.', 'preact 11.'])
      expect(licences).toContain(name);
    expect(licences.match(/Permission is hereby granted/g)).toHaveLength(3);
  });
});

describe('what is declared', () => {
  const declared = (entry: string) => exportedFrom(join(BUILT, `${entry}.d.ts`));

  it('is a file for each entry', () => {
    const files = filesOf('.d.ts');
    expect(files.sort()).toEqual(ENTRIES.map((entry) => `${entry}.d.ts`).sort());
  });

  it.each(ENTRIES)('of %s has as values what exists at run time', async (entry) => {
    const values = declared(entry).flatMap(({ name, isValue }) => (isValue ? [name] : []));
    const module = await import(pathToFileURL(join(BUILT, `${entry}.js`)).href);
    expect(values.sort()).toEqual(Object.keys(module).sort());
  });

  it('of the other entries imports the classes of conclave: declared twice they would be different types', () => {
    for (const entry of ENTRIES.slice(1)) {
      const text = read(`${entry}.d.ts`);
      expect(text).toMatch(/^(?:import|export) \{[^}]*\} from '\.\.\/index\.js';$/m);
      expect(text).not.toMatch(/declare (abstract )?class (Session|ConclaveError|ElectionSupervisor)\b/);
    }
  });

  it('leaves out internal declarations', () => {
    const text = read('index.d.ts');
    expect(text).not.toMatch(/@internal|\b(OwnNode|WatchRegistry|ResolvedSessionOptions|GrantHold)\b/);
  });

  // All that `conclave/held-term` has is declared in `conclave`.
  const declaring = ENTRIES.filter((entry) => entry !== 'held-term/index');
  it.each(declaring)('of %s is documented, and links only to public names', (entry) => {
    const text = read(`${entry}.d.ts`);
    expect(text.match(/\/\*\*/g)?.length).toBeGreaterThan(10);
    const known = new Set(
      [...text.matchAll(/^(?:declare )?(?:abstract )?(?:class|interface|type|function) (\w+)/gm)].map(
        ([, name]) => name,
      ),
    );
    for (const { name } of declared(entry)) known.add(name);
    for (const [, list] of text.matchAll(/^import \{([^}]*)\}/gm))
      for (const name of (list as string).split(',')) known.add(name.trim());
    const linked = [...text.matchAll(/\{@link ([A-Z]\w*)/g)].map(([, name]) => name);
    expect(linked.filter((name) => !known.has(name))).toEqual([]);
  });
});

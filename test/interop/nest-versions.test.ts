import { execFile } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyConsumer, installFromTarball, link } from '../../scripts/package/consumer.mjs';
import { connectString, uniquePath } from '../support/conclave/sessions.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const FOLDERS = [
  ...['@nestjs/common', '@nestjs/core', '@nestjs/schedule', '@nestjs/terminus'],
  ...['reflect-metadata', 'rxjs'],
];

/** How the template of each version of Nest compiles. `node10` finds the subpaths of conclave by `typesVersions` alone. */
const VERSIONS = [
  { nest: 8, type: 'commonjs', module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' },
  { nest: 10, type: 'commonjs', module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' },
  { nest: 11, type: 'commonjs', module: 'nodenext', moduleResolution: 'nodenext' },
  { nest: 12, type: 'module', module: 'nodenext', moduleResolution: 'nodenext' },
] as const;

/** A user's folder with the package, which is packed once for all versions. */
let installed: string;
beforeAll(() => {
  installed = temporaryFolder(afterAll);
  installFromTarball(ROOT, installed);
});

/** Puts the package beside one version of Nest, outside of this project, and compiles the application there. */
async function compileWith({ nest, type, ...resolution }: (typeof VERSIONS)[number]): Promise<string> {
  const folder = temporaryFolder();
  copyConsumer(installed, folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'application', private: true, type }));
  for (const name of FOLDERS) link(folder, name, folderOf(nest, name));
  link(folder, '@types/node');
  copyFileSync(join(import.meta.dirname, 'nest/application.ts'), join(folder, 'application.ts'));
  const compilerOptions = {
    ...resolution,
    target: 'ES2023',
    types: ['node'],
    strict: true,
    skipLibCheck: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', folder]).catch(({ stdout }) => expect.fail(stdout));
  return join(folder, 'application.js');
}

/** npm puts one version of a package at the top, and the others into the folders of their sets. */
function folderOf(nest: number, name: string): string {
  const folders = [
    join(ROOT, `tools/dependencies/nest-${nest}/node_modules`, name),
    join(ROOT, 'node_modules', name),
  ];
  const found = folders.find((folder) => manifestOf(folder) !== undefined);
  if (found === undefined) throw new Error(`${name} is not installed for Nest ${nest}`);
  return found;
}

function manifestOf(folder: string): { version: string } | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  } catch {
    return undefined;
  }
}

describe.each(VERSIONS)('conclave/nestjs with Nest $nest', (version) => {
  it('compiles, runs, schedules, answers health checks, and stops in order', async () => {
    expect(manifestOf(folderOf(version.nest, '@nestjs/core'))?.version).toMatch(
      new RegExp(`^${version.nest}\\.`),
    );
    const path = uniquePath('nest');
    const program = await compileWith(version);
    const { stdout } = await run(process.execPath, [program, connectString(), path]);
    const well = { live: true, ready: true, leading: true, wedged: false, reasons: [] };
    const idle = { conclave: { status: 'down', reasons: ['not started'] } };
    expect(JSON.parse(stdout)).toMatchObject({
      injected: [`${path}/unnamed`, `${path}/unnamed`, `${path}/named`],
      byToken: true,
      leaderOnly: { path: `${path}/named/end`, isItsTerm: true },
      calls: [
        '@Cron above @LeaderJob, in its term: true',
        '@Cron above @LeaderOnly, of Service, in a term: true',
        '@Interval below @LeaderJob, in its term: true, at a whole second: true',
        '@Interval below @LeaderOnly, of Service, in a term: true',
      ],
      up: { status: 'ok', info: { conclave: { status: 'up', ...well }, unnamed: { status: 'up', ...well } } },
      stopped: ['stopped', 'stopped'],
      // The page about web frameworks says what follows from these.
      down: version.nest > 10 ? { status: 'error', error: idle } : { status: 'ok', info: idle },
      stillLiveInAnotherOnModuleDestroy: version.nest > 10,
      supervisorsOfTwoWithoutNames: version.nest > 10 ? 2 : 1,
    });
  }, 180_000);
});

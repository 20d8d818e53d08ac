import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execa, type ResultPromise } from 'execa';
import { expect, it, onTestFinished } from 'vitest';
import { installFromTarball } from '../../scripts/package/consumer.mjs';
import { freePort } from '../../tools/ports.mjs';
import { temporaryFolder } from '../support/temporary-folder.js';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const [, quickStart = ''] = /^## Quick start$(.*?)^## /ms.exec(readme) ?? [];

/** The code blocks of the quick start, without their fences. */
const blocks = (language: string) =>
  [...quickStart.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, code]) => code as string,
  );
const inline = (pattern: RegExp) => pattern.exec(quickStart)?.[1] ?? '';

/** The test differs from the page in two ways: it asks no registry for the package, and it replaces this port by one of its own. */
const PORT = '2181';

it('the quick start does what the README says, in an empty folder, from the package as it is published', async () => {
  const folder = temporaryFolder();
  const port = String(await freePort());
  const [install, serve] = (blocks('sh')[0] ?? '').trim().split('\n');
  const [program] = blocks('js');
  const [printedFirst, printedSecond, printedLater] = blocks('text').map((text) => text.trim());
  const [fileName, start, kill] = [
    inline(/^Save this as `(\S+)`:$/m),
    inline(/^Start it twice.*`(node .+?)`/m),
    inline(/`(kill -9 \d+)`/),
  ];

  expect(install).toBe('npm install conclave');
  installFromTarball(root, folder);
  await linkCommand(folder);

  expect(serve).toBe('npx conclave dev-server');
  const server = inTerminal(folder, `${serve} --port ${port}`);
  expect(await nextLine(server)).toBe(`127.0.0.1:${port}`);

  expect(program).toContain(`127.0.0.1:${PORT}`);
  writeFileSync(
    join(folder, fileName),
    (program as string).replace(`127.0.0.1:${PORT}`, `127.0.0.1:${port}`),
  );
  const first = inTerminal(folder, `exec ${start}`);
  const pids = { first: first.pid as number, second: 0 };
  const led = await nextLine(first);
  expect(led).toMatch(asPrinted(printedFirst, pids));

  const second = inTerminal(folder, `exec ${start}`);
  pids.second = second.pid as number;
  expect(await nextLine(second)).toMatch(asPrinted(printedSecond, pids));

  await execa(withPids(kill, pids), { shell: true });
  expect((await first).signal).toBe('SIGKILL');
  const ledLater = await nextLine(second);
  expect(ledLater).toMatch(asPrinted(printedLater, pids));
  expect(tokenOf(ledLater)).toBeGreaterThan(tokenOf(led));

  interrupt(second);
  const { exitCode, stdout, stderr } = await second;
  expect(exitCode).toBe(0);
  expect(stdout.trim().split('\n')).toHaveLength(2);
  for (const line of stderr.trim().split('\n')) expect(line).toContain('access');
  interrupt(server);
  await server;
}, 60_000);

/** Runs a command line in a shell of its own, as in a terminal, with the environment of a new user. */
function inTerminal(folder: string, command: string) {
  const started = execa(command, {
    cwd: folder,
    shell: true,
    detached: true, // Ctrl+C goes to a process group.
    env: { CONCLAVE_LOG_LEVEL: undefined },
    reject: false,
    stdin: 'ignore',
    timeout: 50_000,
  });
  lines.set(started, started.iterable());
  onTestFinished(() => interrupt(started));
  return started;
}

type Started = ResultPromise<{ reject: false }>;
const lines = new WeakMap<object, AsyncIterableIterator<string>>();

async function nextLine(started: object): Promise<string> {
  const next = await lines.get(started)?.next();
  return next?.value ?? '(the program ended)';
}

/** Does what Ctrl+C does in a terminal. */
function interrupt(started: Pick<Started, 'pid' | 'exitCode' | 'signalCode'>): void {
  if (started.pid === undefined || started.exitCode !== null || started.signalCode !== null) return;
  process.kill(-started.pid, 'SIGINT');
}

/** Matches the output that the README prints, with the process ids of this run and any token. */
function asPrinted(printed = '', pids: { first: number; second: number }): RegExp {
  return new RegExp(`^${withPids(printed, pids).replace(/token \d+/, 'token \\d+')}$`);
}

function withPids(text: string, { first, second }: { first: number; second: number }): string {
  return text.replace('4711', String(first)).replace('4712', String(second));
}

const tokenOf = (line: string) => BigInt(/token (\d+)/.exec(line)?.[1] ?? -1);

/** Links the package's command as `npm install` does. */
async function linkCommand(folder: string): Promise<void> {
  const installed = join(folder, 'node_modules/conclave');
  const { bin } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    bin: Record<string, string>;
  };
  await mkdir(join(folder, 'node_modules/.bin'), { recursive: true });
  for (const [name, file] of Object.entries(bin))
    symlinkSync(join(installed, file), join(folder, 'node_modules/.bin', name));
}

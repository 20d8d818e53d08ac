import { execFileSync, fork } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connectString, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { overlapsIn, type Span } from '../support/history/overlaps.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/waiting.mjs';

const ROOT = join(import.meta.dirname, '../..');
const PERIOD_MS = 1000;
const SHARDS = Array.from({ length: 6 }, (_, id) => `shard ${id}`);
const LIMIT_MS = 45_000;
type Worker = ReturnType<typeof fork> & { readonly release: string; log: string };
/** All acts of one process under one token. */
type Acts = Span & { readonly what: string; readonly token: bigint; readonly by: Worker };
type Message = { what?: string; token: string; at: number; fired?: number; joined?: true };

/** Unpacks the last release beside what it depends on. */
function unpacked(): string {
  const folder = temporaryFolder();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  execFileSync('tar', ['-xzf', join(ROOT, 'test/releases/conclave-0.1.0.tgz'), '-C', folder]);
  return join(folder, 'package');
}

/** Likewise, and gives its records of elections and shards another format. */
function unpackedWithOtherFormat(): string {
  const folder = unpacked();
  const core = join(folder, 'dist/core.js');
  const ofRecord = /(?<=src\/election\/record\/record\.ts\n.{0,900}\nconst FORMAT\$?\d* = )1;/s;
  const code = readFileSync(core, 'utf8').split(ofRecord);
  expect(code).toHaveLength(2);
  writeFileSync(core, code.join('2;'));
  return folder;
}

/** Starts processes of releases that share an election, a lock, a group of shards and a job, and keeps what they do. */
function history() {
  const path = uniquePath('releases');
  const acts = new Map<string, Acts>();
  const newest = new Map<string, Acts>();
  const fired: number[] = [];
  const start = async (release: string, folder: string) => {
    const words = [folder, connectString(), path, '9000', String(PERIOD_MS)];
    const child = fork(join(import.meta.dirname, '../fixtures/release-worker.mjs'), words, {
      env: { ...process.env, CONCLAVE_LOG_LEVEL: 'warn' },
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    const worker: Worker = Object.assign(child, { release, log: '' });
    onTestFinished(() => void worker.kill('SIGKILL'));
    worker.stderr?.on('data', (text: Buffer) => {
      worker.log += text.toString();
    });
    let hasJoined = false;
    worker.on('message', ({ what, token, at, ...other }: Message) => {
      if (other.fired !== undefined) fired.push(other.fired);
      hasJoined ||= other.joined === true;
      if (what === undefined) return;
      const key = `${what} ${token} ${worker.pid}`;
      const span = { what, token: BigInt(token), by: worker, from: acts.get(key)?.from ?? at, to: at };
      acts.set(key, span);
      if (span.token >= (newest.get(what)?.token ?? 0n)) newest.set(what, span);
    });
    await until(() => hasJoined, `the join of ${release}`, LIMIT_MS);
    return worker;
  };
  const by = (what: string) => newest.get(what)?.by;
  const untilFired = async () => {
    const before = fired.length;
    await until(() => fired.length > before, 'a firing', LIMIT_MS);
  };
  /** Resolves when the process leads, has held the lock since, owns so many shards, and another firing has run. */
  const untilActive = async (worker: Worker, shards: number) => {
    const since = newest.get('lock')?.token ?? 0n;
    const holdsLock = () => by('lock') === worker && (newest.get('lock')?.token ?? 0n) > since;
    const owns = () => SHARDS.filter((shard) => by(shard) === worker).length === shards;
    for (const is of [() => by('election') === worker, holdsLock, owns])
      await until(is, `${worker.release} (leads, holds the lock, owns ${shards} shards): ${is}`, LIMIT_MS);
    await untilFired();
  };
  const end = async (worker: Worker, how: 'stop' | 'kill') => {
    await untilFired(); // The next one is noted a second later.
    if (how === 'kill') worker.kill('SIGKILL');
    else worker.send('stop');
    await nextEvent(worker, 'exit');
  };
  const inOrder = () => [...acts.values()].sort((one, other) => (one.token < other.token ? -1 : 1));
  const spansOf = (what: string) => inOrder().filter((each) => each.what === what);
  /** Who led, one after the other; acts of two at the same time, or in another order than their tokens; firings run twice or lost. */
  const seen = () => ({
    terms: spansOf('election').map((each) => each.by.release),
    overlaps: ['election', 'lock', ...SHARDS].flatMap((what) => overlapsIn(spansOf(what))),
    outOfTurn: fired.filter((each, at) => each !== (fired[0] as number) + at * PERIOD_MS),
  });
  return { start, end, untilActive, seen };
}

it('two releases hand an election, a lock, shards and a job over to each other, and replace killed ones: never two act, and each firing runs once', async () => {
  const last = unpacked();
  const { start, end, untilActive, seen } = history();
  let leader = await start('last', last);
  await untilActive(leader, 6);
  const workers = [leader];
  for (const how of ['stop', 'kill', 'kill', 'stop'] as const) {
    const next = leader.release === 'last' ? await start('present', ROOT) : await start('last', last);
    workers.push(next);
    await untilActive(leader, 3);
    await end(leader, how);
    await untilActive(next, 6);
    leader = next;
  }
  await end(leader, 'stop');
  expect(seen()).toEqual({ terms: workers.map(({ release }) => release), overlaps: [], outOfTurn: [] });
  expect(workers.map(({ log }) => log)).toEqual(workers.map(() => ''));
}, 180_000);

it('a release whose records have another format replaces a leader and is replaced after a lease, with a line in the log: never two act', async () => {
  const { start, end, untilActive, seen } = history();
  const former = await start('present', ROOT);
  await untilActive(former, 6);
  const other = await start('other', unpackedWithOtherFormat());
  await end(former, 'kill');
  await untilActive(other, 0);
  const next = await start('present', ROOT);
  await end(other, 'stop');
  await untilActive(next, 6);
  await end(next, 'stop');
  expect(seen()).toEqual({ terms: ['present', 'other', 'present'], overlaps: [], outOfTurn: [] });
  expect(other.log).toMatch(/\/election",.*another client has overwritten the election's record/);
  expect(next.log).toMatch(/\/election",.*"format":2,.*another release of Conclave had written it/);
  expect(other.log).toMatch(/the record of shard \d, is missing, or can't be read: no member can claim/);
}, 180_000);

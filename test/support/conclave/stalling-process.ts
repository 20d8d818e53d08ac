import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LeaderElector } from '../../../src/election/leader-elector.js';
import type { Term } from '../../../src/election/term/term.js';
import type { Session } from '../../../src/session/session.js';
import { nextEvent } from '../events.js';
import { temporaryFolder } from '../temporary-folder.js';
import { onTestFinished } from '../vitest/test-end.js';
import { until } from '../waiting.mjs';
import { connectString, uniquePath } from './sessions.js';

const OPTIONS = { leaseMs: 500, sessionTimeoutMs: 6000, maxStallMs: 60_000 };

export interface StallingOptions {
  readonly servers?: string;
  readonly path?: string;
  /** The options of the session. Those of TLS as base64, or as `tlsFiles`: names of files, which a function reads each time. */
  readonly session?: object;
  readonly nodeOptions?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

/** Starts test/fixtures/stalling-process.mjs. Its main thread stands still from the line `blocks` until `unblock` is called. */
export function startStalling(
  what: string,
  {
    servers = connectString(),
    path = uniquePath('stall'),
    session = {},
    nodeOptions = [],
    env = {},
  }: StallingOptions = {},
) {
  const file = join(temporaryFolder(), 'go-on');
  const fixture = join(import.meta.dirname, '../../fixtures/stalling-process.mjs');
  const options = JSON.stringify({ ...OPTIONS, ...session });
  const child = spawn(process.execPath, [...nodeOptions, fixture, what, servers, path, file, options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CONCLAVE_LOG_LEVEL: 'silent', ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => {
    stderr += bytes.toString();
  });
  const ended = nextEvent<[number | null, string | null]>(child, 'close').then(([code, signal]) => ({
    code,
    signal,
    lines,
    stderr,
  }));
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const said = (line: string) => until(() => lines.includes(line) || child.exitCode !== null, line);
  const unblock = () => writeFileSync(file, '');
  return { path, lines, said, ended, unblock };
}

const HEARTBEATS_OF_SEVERAL_LEASES = 16; // Four come in a lease at most.

/** The highest version of a heartbeat node below the path: how many heartbeats its leader has sent. Others send none. */
async function heartbeats(session: Session, path: string): Promise<number> {
  const names = (await session.getChildren(path)).filter((each) => each.startsWith('_h_'));
  const stats = await Promise.all(names.map((name) => session.exists(`${path}/${name}`)));
  return Math.max(...stats.map((stat) => stat?.version ?? -1));
}

/** Waits until so many more heartbeats were committed that the former ones were too few for the lease to last. */
export async function severalLeases(
  session: Session,
  path: string,
  count = HEARTBEATS_OF_SEVERAL_LEASES,
): Promise<void> {
  const before = await heartbeats(session, path);
  await until(async () => (await heartbeats(session, path)) >= before + count);
}

/** Another candidate, with the terms that it gets. */
export async function startWaiting(path: string, session: Session) {
  const elector = new LeaderElector(session, path);
  const terms: Term[] = [];
  elector.on('elected', (term) => terms.push(term));
  onTestFinished(() => elector.stop());
  await elector.start();
  return { elector, terms };
}

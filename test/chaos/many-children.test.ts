import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { encodeChildMessage, sessionName } from '../../src/cluster/dead-children/guardian-messages.js';
import { type CleanupReport, SessionGuardian } from '../../src/cluster/dead-children/session-guardian.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import type { SessionCredentials } from '../../src/session/id-and-password.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { openSession } from '../support/conclave/sessions.js';
import { nextEvent, recordEvents } from '../support/events.js';
import { until } from '../support/waiting.mjs';
import { RawClient } from '../support/wire/raw-client.js';

const CYCLES = 1000;
const AT_ONCE = 4;
const SURVIVORS = 3;

const fixture = (name: string) => join(import.meta.dirname, '../fixtures', name);

it('closes the sessions of 1,000 children that end one after the other, and never touches one of a child that lives', async () => {
  const zookeeper = await startZooKeeper();
  onTestFinished(zookeeper.stop);
  const { port } = zookeeper.servers[0] as { port: number };
  const guardian = new SessionGuardian({ connect: zookeeper.connectString });
  const errors = recordEvents(guardian, 'error');
  const survivors: ChildProcess[] = [];
  const complaints: unknown[] = [];
  for (let index = 0; index < SURVIVORS; index++) {
    const child = fork(fixture('guarded-child.mjs'), [zookeeper.connectString, '/survivors']);
    onTestFinished(() => void child.kill('SIGKILL'));
    child.on('message', (message: object) => {
      if ('error' in message || 'demoted' in message) complaints.push(message);
    });
    guardian.watch(child);
    survivors.push(child);
    await until(() => guardian.roleOf(child) === (index === 0 ? 'leading' : 'waiting'));
  }

  const cleanedUp = new Map<number | undefined, CleanupReport>();
  guardian.on('cleanedUp', (report) => void cleanedUp.set(report.pid, report));
  const opened: SessionCredentials[] = [];
  const cycle = async () => {
    const client = await RawClient.connect(port);
    client.vanish(); // The session lives on, and belongs to the child from here on.
    const { id, credentials } = client;
    const { timeoutMs } = client.greeting;
    opened.push(credentials);
    const message = { kind: 'opened', session: sessionName(id), credentials, timeoutMs } as const;
    const word = encodeChildMessage({ pid: 0, message });
    const child = fork(fixture('killed-child.sh'), [JSON.stringify(word).replace('"pid":0', '"pid":%d')], {
      execPath: '/bin/sh',
      execArgv: [],
    });
    guardian.watch(child);
    await nextEvent(child, 'exit');
    await until(() => cleanedUp.has(child.pid));
  };
  let left = CYCLES;
  const inTurn = async () => {
    while (left-- > 0) await cycle();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, inTurn));

  expect(opened).toHaveLength(CYCLES);
  expect(new Set(opened.map(({ id }) => id)).size).toBe(CYCLES);
  for (const { id, password } of opened) {
    const attempt = await RawClient.connect(port, { id, password });
    expect(attempt.greeting.timeoutMs).toBe(0); // There is no such session any more.
    attempt.vanish();
  }
  expect(errors).toEqual([]);
  expect(complaints).toEqual([]);
  expect(survivors.map((child) => guardian.roleOf(child))).toEqual(['leading', 'waiting', 'waiting']);
  const candidates = await new LeaderElector(
    await openSession({}, zookeeper.connectString),
    '/survivors',
  ).candidates();
  expect(candidates.map(({ id }) => Number(id.split('-').at(-2)))).toEqual(survivors.map(({ pid }) => pid));
  for (const child of survivors) child.kill('SIGKILL');
  await Promise.all(survivors.map(async (child) => await until(() => cleanedUp.has(child.pid))));
  await guardian.close();
}, 300_000);

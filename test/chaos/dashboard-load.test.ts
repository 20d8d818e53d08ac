import { fork } from 'node:child_process';
import { connect as connectTo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { serializeCandidate } from '../../src/election/candidates/candidate.js';
import { candidateUuid } from '../../src/election/candidates/candidate-uuid.js';
import { serializeRecord } from '../../src/election/record/election-record.js';
import { entryPrefix } from '../../src/queue/names-and-order.js';
import { getJson } from '../support/conclave/dashboards.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { onTestFinished } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const ELECTIONS = 200;
const CANDIDATES = 90;
const MIB = 1024 * 1024;

interface Measured {
  readonly demotions: number;
  readonly bytes: number;
}

it('visitors of a large dashboard deposed the leader in its process, and used up its memory', {
  timeout: 120_000,
}, async () => {
  // Its servers are in another process: this one's visitors keep it busy.
  const session = await openSession({ sessionTimeoutMs: 40_000 });
  const root = uniquePath('load');
  await session.ensurePath(root);
  const data = serializeCandidate('x'.repeat(200), 'y'.repeat(180));
  for (let election = 0; election < ELECTIONS; election++) {
    const path = `${root}/${election}`;
    await session.create(path);
    await session.setData(path, serializeRecord({ state: 'vacant', term: 1 }));
    const nodeOf = (number: number) =>
      `${path}/${entryPrefix(candidateUuid(crypto.randomUUID(), 0, 2000))}${String(number).padStart(10, '0')}`;
    await session.commit(
      Array.from(
        { length: CANDIDATES },
        (_, number) => ({ kind: 'create', mode: 'ephemeral', path: nodeOf(number), data }) as const,
      ),
    );
  }
  const child = fork(join(import.meta.dirname, '../fixtures/visited-leader.mjs'), [connectString(), root], {
    execArgv: ['--expose-gc'],
    env: { ...process.env, CONCLAVE_LOG_LEVEL: 'silent' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [{ port }] = await nextEvent<[{ port: number }]>(child, 'message');
  const url = `http://127.0.0.1:${port}/`;
  const measure = async () => {
    const answer = nextEvent<[Measured]>(child, 'message');
    child.send('measure');
    return (await answer)[0];
  };
  let state = 0;
  // The first answers may come before all elections were read.
  await until(async () => {
    const text = JSON.stringify(await getJson(`${url}api/state`));
    state = text.length;
    return state > 5 * MIB;
  }, 'the state of all elections');
  const before = await measure();
  /** Reads nothing. */
  const visit = (path: string) => {
    const socket = connectTo({ port, host: '127.0.0.1' }).on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
    return socket;
  };
  const silent = ['/api/events', '/api/state', '/api/elections'].flatMap((path) =>
    Array.from({ length: 150 }, () => visit(path)),
  );
  onTestFinished(() => silent.forEach((socket) => void socket.destroy()));
  await new Promise((over) => setTimeout(over, 5000)); // The leader's heartbeats go on meanwhile, and its answers pile up.
  const beside = await measure();
  silent.forEach((socket) => void socket.destroy());
  // Visitors that read, each of which gets all of it or is told to come again.
  const answers = await Promise.all(
    Array.from({ length: 120 }, async () => {
      try {
        const response = await fetch(`${url}api/state`);
        return [response.status, (await response.text()).length] as const;
      } catch {
        return [503, 0] as const; // It was cut off, since it was too slow on a busy machine.
      }
    }),
  );
  const after = await measure();
  expect(answers.filter(([status]) => status === 200).length).toBeGreaterThan(0);
  for (const [status, length] of answers)
    expect(status === 200 ? length > 5 * MIB : status === 503).toBe(true);
  // 16 MiB that wait for slow visitors, the newest state, and what Node needs for 450 connections.
  expect(beside.bytes - before.bytes).toBeLessThan(16 * MIB + 2 * state + 32 * MIB);
  expect([beside.demotions, after.demotions]).toEqual([0, 0]);
});

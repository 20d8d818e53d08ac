import { expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import { connectString, uniquePath } from '../support/conclave/sessions.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

/** A logger, and its warnings about how things are set up. */
function warnings() {
  const said: string[] = [];
  const warn = (_: object, message: string) => {
    if (!message.startsWith('any client')) said.push(message);
  };
  return { said, logger: { ...SILENT, warn } };
}

const session = { leaseMs: 400 };

it('warns once of another live candidate with the same id, which was accepted silently, and of no other', async () => {
  const path = uniquePath('setup');
  const { said, logger } = warnings();
  const options = { connect: connectString(), path, session, logger };
  for (const id of ['same', 'same', 'other']) {
    const supervisor = new ElectionSupervisor({ ...options, id });
    onTestFinished(() => supervisor.stop());
    await supervisor.start();
  }
  await until(() => said.length > 0);
  await until(() => new Promise((resolve) => setTimeout(() => resolve(true), 3 * session.leaseMs)));
  expect(said).toEqual(['the leader is another candidate with the same id: give each its own']);
});

it('warns of options that do nothing: waitForPreparedMs without prepare, a member of a group without work', async () => {
  const { said, logger } = warnings();
  const options = { connect: connectString(), session, logger };
  const supervisor = new ElectionSupervisor({
    ...options,
    path: uniquePath('setup'),
    waitForPreparedMs: 100,
  });
  const idle = new ShardSupervisor({ ...options, path: uniquePath('setup'), shards: 1 });
  const busy = new ShardSupervisor({ ...options, path: uniquePath('setup'), shards: 1 }).on(
    'acquired',
    () => undefined,
  );
  for (const each of [supervisor, idle, busy]) {
    onTestFinished(() => each.stop());
    await each.start();
  }
  expect(said).toEqual([
    'waitForPreparedMs has no effect if no candidate has `prepare`: give both to all',
    'this member has neither `run` nor a listener of `acquired`: nothing works on its shards',
  ]);
});

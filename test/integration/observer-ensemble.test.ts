import { expect, it, onTestFinished } from 'vitest';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import {
  observe,
  oneAfterTheOther,
  servedLate,
  showsId,
  startLeader,
} from '../support/conclave/observers.js';
import { inOrder, openSession } from '../support/conclave/sessions.js';
import { startProxy } from '../support/faults/start-proxy.js';
import type { TcpProxy } from '../support/faults/tcp-proxy.mjs';
import { until } from '../support/waiting.mjs';

it('an observer whose next session is at a follower that is cut off from its leader shows no leader until that has caught up, and never the former leader again', async () => {
  const links: { from: number; proxy: TcpProxy }[] = [];
  const zookeeper = await startZooKeeper({
    servers: 3,
    route: async ({ from, port }) => {
      const proxy = await startProxy(port, { readable: false });
      links.push({ from, proxy });
      return Number(proxy.connectString.split(':')[1]);
    },
  });
  onTestFinished(zookeeper.stop);
  const modes = await Promise.all(zookeeper.servers.map((server) => server.mode()));
  const [leading, follower] = ['leader', 'follower'].map((mode) => zookeeper.servers[modes.indexOf(mode)]);
  if (leading === undefined || follower === undefined) throw new Error(`an ensemble of ${modes.join()}`);
  const options = { sessionTimeoutMs: 30_000, environment: inOrder };
  const first = await openSession(options, leading.connectString);
  const second = await openSession(options, `${follower.connectString},${leading.connectString}`);
  const [one, two] = [
    await openSession(options, leading.connectString),
    await openSession(options, leading.connectString),
  ];
  const elector = await startLeader(one, '/observed', { id: 'one' });
  const { observer, changes } = await observe(oneAfterTheOther(first, second), '/observed');
  const recordOfFollower = async () => (await second.getData('/observed')).data.toString();
  expect(await recordOfFollower()).toContain('"one"');

  const cut = links.filter(({ from }) => from === follower.id);
  for (const { proxy } of cut) proxy.partition();
  await elector.stop();
  const next = await startLeader(two, '/observed', { id: 'two' });
  await showsId(observer, 'two');
  expect(await recordOfFollower()).toContain('"one"'); // The follower does lag behind.
  const server = servedLate(second, new Map()); // Serves only to learn when the observer asks it to catch up.
  await first.close();
  await until(() => server.caughtUp);
  expect(observer.leader).toBeUndefined();
  for (const { proxy } of cut) proxy.restore();
  await showsId(observer, 'two');
  expect(changes.filter((id, index) => id !== undefined || index === changes.length - 2)).toEqual([
    'one',
    'two',
    undefined,
    'two',
  ]);
  await next.stop();
});

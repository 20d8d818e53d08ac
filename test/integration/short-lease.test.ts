import { expect, it, onTestFinished } from 'vitest';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { campaign, lead } from '../support/conclave/electors.js';
import { openProxied, openSession, uniquePath } from '../support/conclave/sessions.js';
import { recordEvents } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

const LEASE_MS = 300;
const TIMES = { sessionTimeoutMs: 6000, leaseMs: LEASE_MS };

it('a lease of 300 ms beside a session timeout of 6 s is kept for twenty leases, over one connection', async () => {
  const { proxy, session } = await openProxied(TIMES);
  const [elector] = await lead(session, uniquePath('short-lease'));
  onTestFinished(() => elector.stop());
  let since = performance.now();
  elector.on('elected', () => {
    since = performance.now();
  });
  // On a busy machine this process may stand still for longer than such a lease. Another term has to last then.
  await until(() => elector.isLeader && performance.now() - since > 20 * LEASE_MS);
  expect(proxy.accepted).toBe(1);
});

it('a lease that replies can not keep is warned of once, its terms cool down, and the link and locks go on', async () => {
  const proxy = await startProxy();
  const warnings: string[] = [];
  const logger = { ...SILENT, warn: (_: object, message: string) => void warnings.push(message) };
  const session = await openSession({ ...TIMES, logger }, proxy.connectString);
  const events = recordEvents(session, 'suspended');
  proxy.delay(100); // In each direction.
  const elector = await campaign(session, uniquePath('short-lease'), { logger });
  onTestFinished(() => elector.stop());
  const warningsOf = (what: string) => warnings.filter((each) => each.includes(what)).length;
  await until(() => warningsOf('staying out') > 0);
  const tokens: bigint[] = [];
  const lock = new DistributedLock(session, uniquePath('short-lease'));
  for (let round = 0; round < 8; round++) tokens.push(await lock.using(({ token }) => token));
  expect(new Set(tokens).size).toBe(8);
  expect([elector.state.name, await elector.leader()]).toEqual(['joining', undefined]);
  expect([warningsOf('half a lease'), warningsOf('staying out')]).toEqual([1, 1]);
  expect([events, proxy.accepted]).toEqual([[], 1]);
});

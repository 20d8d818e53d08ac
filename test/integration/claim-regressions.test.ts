/** Bugs that were found in claims, calls and requests, each with the test that failed before the bug was fixed. */
import { describe, expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { parseRecord } from '../../src/election/record/election-record.js';
import { revokeLeader } from '../../src/election/revoke-leader.js';
import type { Term } from '../../src/election/term/term.js';
import { InvalidOptionError, InvalidStateError, ZooKeeperError } from '../../src/errors.js';
import type { Session } from '../../src/session/session.js';
import { Session as Sessions } from '../../src/session/session.js';
import { campaign, lead } from '../support/conclave/electors.js';
import {
  connectString,
  openProxied,
  openSession,
  openWithPath,
  uniquePath,
} from '../support/conclave/sessions.js';
import { eventAfter, nextEvent, recordEvents } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { deferred, until } from '../support/waiting.mjs';

/**
 * Deletes an election with everything in it in one write, as an operator would. A candidate may create its heartbeat node
 * meanwhile.
 */
async function wipe(session: Session, path: string): Promise<void> {
  const children = await session.getChildren(path);
  const parts = [...children.map((child) => `${path}/${child}`), path];
  try {
    await session.commit(parts.map((each) => ({ kind: 'delete', path: each })));
  } catch (error) {
    if (!(error instanceof ZooKeeperError && error.code === 'NOT_EMPTY')) throw error;
    await wipe(session, path);
  }
}

async function holderOf(session: Session, path: string): Promise<string> {
  const { data, stat } = await session.getData(path);
  const record = parseRecord(data, stat.version);
  return `${path}/${record.state === 'held' ? record.node : 'vacant'}`;
}

describe('a claimant', () => {
  it('skipped the takeover delay when the version of an earlier unclean end came again with a new election', async () => {
    const path = uniquePath('regression');
    const proxy = await startProxy();
    const [former, own, operator] = [await openSession(), await openSession(), await openSession()];
    const cutOff = await openSession({}, proxy.connectString);
    await lead(former, path);
    const elector = new LeaderElector(own, path);
    const work = deferred();
    elector.once('elected', (term) => term.waitUntil(work.promise));
    const elected = nextEvent(elector, 'elected');
    await elector.start();
    await former.close(); // An unclean end at version 1, which is also the first version of the next election.
    await elected;
    await wipe(operator, path);
    await until(() => elector.state.name !== 'leading');
    const [, term] = await lead(cutOff, path);
    await eventAfter(elector, 'waiting', work.resolve);
    const again = nextEvent(elector, 'elected');
    proxy.partition();
    await operator.remove(await holderOf(operator, path));
    await again;
    expect(term.isHeld()).toBe(false);
    proxy.restore();
    await elector.stop();
  });

  it('took an election that was deleted under a leader, and made anew, for one that had never been led', async () => {
    const path = uniquePath('regression');
    const proxy = await startProxy();
    const [leader, waiter, operator] = [
      await openSession({}, proxy.connectString),
      await openSession(),
      await openSession(),
    ];
    const [, term] = await lead(leader, path);
    const elector = await campaign(waiter, path);
    const elected = nextEvent(elector, 'elected');
    proxy.partition();
    await wipe(operator, path);
    await elected;
    expect(term.isHeld()).toBe(false);
    proxy.restore();
    await elector.stop();
  });

  it('could not be stopped while it looked for a candidate with a higher priority over a dead link', async () => {
    const path = uniquePath('regression');
    const proxy = await startProxy();
    const former = await openSession();
    const session = await openSession({ sessionTimeoutMs: 20_000, leaseMs: 400 }, proxy.connectString);
    await lead(former, path);
    const elector = await campaign(session, path);
    await until(() => elector.state.name === 'waiting');
    await session.exists('/'); // The requests that it sends when it begins to wait have been answered.
    const swallowed = proxy.partitionFrom('getChildren', { text: path });
    await former.close();
    await swallowed;
    const stopped = await Promise.race([
      elector.stop().then(() => 'stopped'),
      new Promise((resolve) => setTimeout(resolve, 3000, 'hangs')),
    ]);
    expect(stopped).toBe('stopped');
    proxy.restore();
  });
});

it('a candidate whose node says that it leads waits on as long as the record says something else, and leads in its turn', async () => {
  const { session, path } = await openWithPath('regression');
  const [leader] = await lead(session, path, { id: 'leader' });
  const first = await campaign(await openSession(), path, { id: 'first' });
  const second = await campaign(await openSession(), path, { id: 'second' });
  const events = recordEvents(second, 'elected', 'error');
  const [, , { node }] = (await leader.candidates()) as [unknown, unknown, { node: string }];
  const data = Buffer.from(JSON.stringify({ id: 'second', request: { kind: 'lead', term: 2 } }));
  await session.setData(`${path}/${node}`, data);
  const elected = nextEvent(first, 'elected');
  await leader.stop();
  await elected;
  expect(events).toEqual([]);
  await eventAfter(second, 'elected', () => first.stop());
  await second.stop();
});

it('a handover resolved as if it had happened when the term was lost in the middle', async () => {
  const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 8000, leaseMs: 800 });
  const [leader] = await lead(session, path);
  const other = await campaign(await openSession(), path, { id: 'other' });
  const demoted = nextEvent<[Term, string]>(leader, 'demoted');
  const swallowed = proxy.partitionFrom('getChildren');
  const outcome = expect(leader.handOver('other')).rejects.toBeInstanceOf(InvalidStateError);
  await swallowed;
  expect((await demoted)[1]).toBe('lease-expired');
  proxy.restore();
  await outcome;
  await Promise.all([leader.stop(), other.stop()]);
});

it('a policy of revocations that says nothing kept a timer of the whole grace after the elector had stopped', async () => {
  const path = uniquePath('regression');
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
  const before = timers();
  const session = await Sessions.connect(connectString(), { sessionTimeoutMs: 5000 });
  const asker = await Sessions.connect(connectString(), { sessionTimeoutMs: 5000 });
  const asked = deferred();
  const onRevoke = () => {
    asked.resolve();
    return new Promise<boolean>(() => undefined);
  };
  const [leader] = await lead(session, path, { onRevoke });
  const asking = revokeLeader(asker, path, { graceMs: 3_600_000 });
  await asked.promise;
  await leader.stop();
  await asking;
  await Promise.all([session.close(), asker.close()]);
  expect(timers()).toBeLessThanOrEqual(before);
});

it('the option tls could make each try leave an unheard socket, which ended the process, when Node refused its options', async () => {
  const tls = { checkServerIdentity: undefined, minDHSize: 0 } as never;
  const sockets = () => process.getActiveResourcesInfo().filter((each) => each === 'TCPSocketWrap').length;
  const before = sockets();
  const failing = Sessions.connect(connectString(), { tls, connectTimeoutMs: 300 });
  await expect(failing).rejects.toThrow();
  expect(sockets()).toBeLessThan(before + 3);
  const wrong = Sessions.connect(connectString(), { tls: { checkServerIdentity: 1 } as never });
  await expect(wrong).rejects.toBeInstanceOf(InvalidOptionError);
});

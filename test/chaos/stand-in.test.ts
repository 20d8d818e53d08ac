import { describe, expect, it } from 'vitest';
import { openSession } from '../support/conclave/sessions.js';
import { severalLeases, startStalling, startWaiting } from '../support/conclave/stalling-process.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { connectStringOf, Ensemble } from '../support/servers/ensemble.js';
import { until } from '../support/waiting.mjs';

// So long that a busy machine connects within it.
const SESSION = { leaseMs: 1500 };
/** In two leases. */
const HEARTBEATS = 6;

const KEPT = [
  'leads',
  'blocks',
  'was held all the time',
  'suspended',
  'resumed',
  'the thread has seen no end',
  'demoted: stopped',
  'closed',
];

describe('a process that loses its connection while its main thread stands still', () => {
  it('keeps its term and its session over another way to the servers, and then over a connection of its own', async () => {
    const proxies = [await startProxy(), await startProxy()];
    const servers = proxies.map((proxy) => proxy.connectString).join(',');
    const process = startStalling('lead', { servers, session: SESSION });
    await process.said('blocks');
    const session = await openSession();
    const { terms } = await startWaiting(process.path, session);
    const before = proxies.find((proxy) => proxy.inUse);
    before?.cut();
    await severalLeases(session, process.path, HEARTBEATS);
    expect(before?.inUse).toBe(false);
    process.unblock();
    const { lines } = await process.ended;
    expect([...lines].sort()).toEqual([...KEPT].sort());
    await until(() => terms.length === 1);
    expect(terms[0]?.number).toBe(2);
  });

  it('keeps its term over the same way, if there is no other, and again after another loss', async () => {
    const proxy = await startProxy();
    const process = startStalling('lead', { servers: proxy.connectString, session: SESSION });
    await process.said('blocks');
    const session = await openSession();
    for (let loss = 0; loss < 3; loss++) {
      proxy.dropConnections();
      await severalLeases(session, process.path, HEARTBEATS);
    }
    process.unblock();
    expect([...(await process.ended).lines].sort()).toEqual([...KEPT].sort());
  });

  it('keeps its term over another way when the link is silent, if the lease is longer than that is borne', async () => {
    const proxies = [await startProxy(), await startProxy()];
    const options = { servers: connectStringOf(proxies), session: { leaseMs: 5500 } };
    const process = startStalling('lead', options);
    await process.said('blocks');
    const [silent, other] = proxies.toSorted((one, two) => Number(two.inUse) - Number(one.inUse));
    silent?.partition();
    await until(() => other?.inUse === true);
    await severalLeases(await openSession(), process.path, 1);
    process.unblock();
    expect([...(await process.ended).lines].sort()).toEqual([...KEPT].sort());
  });

  it('keeps its term when the server at hand is killed', async () => {
    const ensemble = await Ensemble.start({ tickMs: 500 });
    await ensemble.allServe();
    const [atHand] = await ensemble.followers();
    const others = ensemble.servers.filter((server) => server !== atHand);
    // The session begins with the only server that it can reach, and later can reach all.
    const proxies = await Promise.all(others.map((server) => startProxy(server.connectString)));
    const undo = proxies.map((proxy) => proxy.cut());
    const servers = [atHand, ...proxies].map((server) => server.connectString).join(',');
    const process = startStalling('lead', { servers, session: SESSION });
    await process.said('blocks');
    for (const end of undo) end();
    const session = await openSession({}, others[0]?.connectString);
    await atHand.kill();
    await severalLeases(session, process.path, HEARTBEATS);
    process.unblock();
    expect([...(await process.ended).lines].sort()).toEqual([...KEPT].sort());
  });

  it('keeps its term through several blocks, with a server killed in each', async () => {
    const ensemble = await Ensemble.start({ tickMs: 500 });
    await ensemble.allServe();
    const followers = await ensemble.followers();
    const proxies = await Promise.all(followers.map((server) => startProxy(server.connectString)));
    const leader = await ensemble.leader();
    const session = await openSession({}, leader.connectString);
    const options = { servers: connectStringOf(proxies), session: SESSION };
    const process = startStalling('lead through three blocks', options);
    for (const block of [1, 2, 3]) {
      await process.said('blocks', block);
      const atHand = followers[proxies.findIndex((proxy) => proxy.inUse)];
      await atHand?.kill();
      await severalLeases(session, process.path, HEARTBEATS);
      await atHand?.start();
      await ensemble.allServe();
      process.unblock(block);
    }
    const { lines, stderr } = await process.ended;
    expect(stderr).toBe('');
    const ofBlock = ['blocks', 'was held all the time', 'suspended', 'resumed'];
    expect([...lines].sort()).toEqual([...KEPT, ...ofBlock, ...ofBlock].sort());
  });

  it('keeps its term with credentials, though nobody else may write its nodes', async () => {
    const auth = { scheme: 'digest', credentials: 'alice:wonder' };
    const proxies = [await startProxy(), await startProxy()];
    const process = startStalling('lead', {
      servers: connectStringOf(proxies),
      session: { ...SESSION, auth },
    });
    await process.said('blocks');
    const session = await openSession({ auth });
    const [node] = await session.getChildren(process.path);
    expect((await session.getAcl(`${process.path}/${node}`))[0]?.id).toMatch(/^alice:/);
    proxies.find((proxy) => proxy.inUse)?.cut();
    await severalLeases(session, process.path, HEARTBEATS);
    process.unblock();
    expect([...(await process.ended).lines].sort()).toEqual([...KEPT].sort());
  });

  it('hears of a change that came while another connection stood in, once it has the session back', async () => {
    const proxies = [await startProxy(), await startProxy()];
    const process = startStalling('lead, and watch', { servers: connectStringOf(proxies), session: SESSION });
    await process.said('blocks');
    const session = await openSession();
    proxies.find((proxy) => proxy.inUse)?.cut();
    await severalLeases(session, process.path, HEARTBEATS);
    await session.setData(`${process.path}-watched`, Buffer.from('the change'));
    await severalLeases(session, process.path, HEARTBEATS);
    process.unblock();
    expect([...(await process.ended).lines].sort()).toEqual([...KEPT, 'has seen the change'].sort());
  });

  it('takes the session back from a handshake of the thread that reaches a server late', async () => {
    const ensemble = await Ensemble.start({ tickMs: 500 });
    await ensemble.allServe();
    const [atHand, late] = await Promise.all(
      ensemble.servers.slice(0, 2).map((server) => startProxy(server.connectString)),
    );
    if (atHand === undefined || late === undefined) throw new Error('two proxies');
    const isBack = late.cut();
    const process = startStalling('lead on', { servers: connectStringOf([atHand, late]), session: SESSION });
    await process.said('blocks');
    isBack();
    const taken = late.accepted;
    const pass = late.partition();
    const serves = atHand.cut();
    await until(() => late.accepted > taken); // The thread's handshake is on its way, and arrives later.
    late.refuse();
    serves();
    process.unblock();
    await process.said('resumed');
    pass();
    await process.said('resumed', 2);
    process.unblock('end');
    const { lines, stderr } = await process.ended;
    expect(stderr).toBe('');
    expect(lines).not.toContain('expired');
    expect(lines).not.toContain('was not held after the block');
    expect(lines).toContain('was held all the time');
    expect(lines.slice(-2)).toEqual(['demoted: stopped', 'closed']);
  });
});

describe('a process whose session expires while its main thread stands still', () => {
  it('loses its term, and finds out by its own handshake', async () => {
    const proxy = await startProxy();
    const session = { sessionTimeoutMs: 2000, leaseMs: 500 };
    const process = startStalling('lead', { servers: proxy.connectString, session });
    await process.said('blocks');
    const other = await openSession();
    const { terms } = await startWaiting(process.path, other);
    const serves = proxy.cut();
    await until(() => terms.length === 1);
    await until(async () => (await other.exists(`${process.path}-session`)) === undefined);
    const taken = proxy.accepted;
    serves();
    await until(() => proxy.accepted > taken && !proxy.inUse); // The stand-in has heard of it, and has ended.
    process.unblock();
    const { lines, stderr, code } = await process.ended;
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(lines).toContain('expired');
    expect(lines).not.toContain('resumed');
    expect(lines.filter((line) => line.startsWith('demoted'))).toEqual(['demoted: lease-expired']);
  });
});

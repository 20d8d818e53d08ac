import { describe, expect, it, onTestFinished } from 'vitest';
import { LeaderElector } from '../../src/election/elector.js';
import type { LeaderElectorOptions } from '../../src/election/elector-options.js';
import { revokeLeader } from '../../src/election/revoke-leader.js';
import type { Term } from '../../src/election/term/term.js';
import { RevocationRefusedError } from '../../src/errors.js';
import { deferred } from '../../src/platform/async/promises.js';
import { Session } from '../../src/session/session.js';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { campaign, lead } from '../support/conclave/electors.js';
import { nextEvent } from '../support/events.mjs';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';

// On a server of its own, because the tests look at its requests.

const PATH = '/election';
const ignore = () => undefined;

async function startElection() {
  const server = await EmbeddedZooKeeper.start({ logger: SILENT });
  onTestFinished(() => server.stop());
  /** Opens a session with a timeout so long that no heartbeat comes while the test looks at requests. */
  const open = async () => {
    const session = await Session.connect(server.connectString, { sessionTimeoutMs: 60_000 });
    onTestFinished(() => session.close());
    return session;
  };
  const elected: string[] = [];
  /** Records when the elector is elected, and stops it at the end of the test. */
  const note = (elector: LeaderElector) => {
    elector.on('elected', () => elected.push(elector.id));
    onTestFinished(() => elector.stop());
    return elector;
  };
  const join = async (id: string, priority = 0, options: LeaderElectorOptions = {}) =>
    note(await campaign(await open(), PATH, { id, priority, ...options }));
  const begin = async (id: string, options: LeaderElectorOptions = {}): Promise<[LeaderElector, Term]> => {
    const [leader, term] = await lead(await open(), PATH, { id, ...options });
    await settled(leader);
    return [note(leader), term];
  };
  /** The requests of these electors, in the order in which the server got them. */
  const asked = (...who: LeaderElector[]) =>
    server.requests.flatMap(({ operation, session }) => {
      const elector = who.find((each) => each.session.credentials.id === session?.id);
      return elector === undefined ? [] : [`${elector.id} ${operation}`];
    });
  return { server, open, join, begin, asked, elected };
}

/** Resolves when this elector has had all pending answers and notifications. */
async function settled(elector: LeaderElector): Promise<void> {
  await elector.session.exists('/');
  await elector.session.exists('/');
}

/** Lets a candidate with a priority join after the leader's release, and before the claim of the next in line, which is cut off. */
async function joinBeforeTheClaim() {
  const { server, join, begin, elected } = await startElection();
  const [leader] = await begin('leader');
  const next = await join('next');
  await join('plain');
  await settled(next);
  const cutOff = server.sessionOf(`${PATH}/${(await leader.candidates())[1]?.node}`);
  cutOff?.partition();
  await leader.stop();
  server.resetCounts();
  await join('high', 1);
  return { server, next, nextIsBack: () => cutOff?.heal(), elected };
}

const nodeOf = async (leader: LeaderElector) => `${PATH}/${(await leader.leader())?.node}`;

/** Starts a leader that knows the next candidate. That candidate follows the leader's heartbeats. */
async function leadWithNext(
  server: EmbeddedZooKeeper,
  begin: (id: string) => Promise<[LeaderElector, ...unknown[]]>,
  join: (id: string) => Promise<LeaderElector>,
) {
  const [first] = await begin('first');
  const leader = await join('leader');
  const next = await join('next');
  const elected = nextEvent(leader, 'elected');
  await first.stop();
  await elected;
  await settled(leader);
  const { id } = next.session.credentials;
  const watches = () =>
    server.requests.some(({ session, paths: [path = ''] }) => session?.id === id && path.includes('/_h_'));
  await until(watches);
  await settled(next);
  return { leader, next };
}

describe('a clean handover', () => {
  it.each([
    ['stopped', (leader: LeaderElector) => leader.stop()],
    ['resigned', (leader: LeaderElector) => leader.resign()],
    ['revoked', (_: LeaderElector, other: Session) => revokeLeader(other, PATH)],
  ] as const)(
    'of a leader that has %s sends nothing before the release, and the next one claims nothing',
    async (_, end) => {
      const { server, open, join, begin, asked } = await startElection();
      const { leader, next } = await leadWithNext(server, begin, join);
      const other = await open();
      server.resetCounts();
      const elected = nextEvent(next, 'elected');
      const ended = end(leader, other);
      await elected;
      const requests = asked(leader);
      // The removal of watches is sent together with the release.
      const release = requests.indexOf('leader removeWatches') + 1;
      expect(requests.slice(0, release)).not.toContain('leader getChildren');
      expect(requests[release]).toBe('leader multi');
      const writes = server.requests.filter(
        ({ operation, paths }) => operation === 'multi' && paths.includes(PATH),
      );
      expect(writes).toHaveLength(1);
      // The listing belongs to the term that begins. The leader sends it as soon as the application has heard of the term.
      await until(() => asked(next).includes('next getChildren'));
      expect(asked(next).filter((request) => !/getData|exists|multi/.test(request))).toEqual([
        'next getChildren',
      ]);
      await ended;
    },
  );

  it('of a leader that alone has a priority sends nothing before the release either', async () => {
    const { server, join, begin, asked } = await startElection();
    const [leader] = await begin('leader', { priority: 1 });
    const next = await join('next');
    await settled(next);
    server.resetCounts();
    const elected = nextEvent(next, 'elected');
    await leader.stop();
    await elected;
    expect(asked(leader)).toEqual(['leader removeWatches', 'leader multi']);
  });

  it('takes one write, and no more requests of the next one than the record and the queue, however soon its term ends', async () => {
    const { server, join, begin, asked } = await startElection();
    const { leader, next: brief } = await leadWithNext(server, begin, join);
    server.resetCounts();
    brief.once('elected', () => void brief.stop());
    const stopped = nextEvent(brief, 'stopped');
    await leader.stop();
    await stopped;
    // The read that confirms the signal and the listing are sent in either order.
    const requests = asked(leader, brief);
    expect([...requests.slice(0, 2), ...requests.slice(2, 4).sort(), ...requests.slice(4)]).toEqual([
      'leader removeWatches',
      'leader multi',
      'next getChildren',
      'next getData',
      'next removeWatches',
      'next multi',
    ]);
  });

  it('asks nothing of a queue without priorities, and writes on no other candidate’s node', async () => {
    const { server, join, begin, elected } = await startElection();
    const [leader] = await begin('leader');
    for (const id of ['a', 'b', 'c']) await join(id);
    await leader.resign();
    await until(() => elected.length === 1);
    expect(server.count('setData')).toBe(0);
  });
});

describe('a candidate with a priority that joins while another leads', () => {
  it('leads next, before all that joined earlier, and notifies the leader by one mark', async () => {
    const { server, join, begin, elected } = await startElection();
    const [leader, term] = await begin('leader');
    await join('plain');
    await join('low', 1);
    await join('high', 2);
    expect(server.count('setData')).toBe(1);
    await settled(leader);
    expect(term.isHeld()).toBe(true);
    await leader.stop();
    await until(() => elected.length === 1);
    expect(elected).toEqual(['high']);
  });

  it('leads next when the leader stops before it has heard of it', async () => {
    const { server, join, begin, asked, elected } = await startElection();
    const [leader] = await begin('leader');
    await join('plain');
    // The leader is notified at once that its node has changed, and then waits for the node's data.
    const late = server.delay(150, { only: 'getData', path: await nodeOf(leader) });
    await join('high', 1);
    expect(late.hits).toBeGreaterThan(0);
    server.resetCounts();
    await leader.stop();
    await until(() => elected.length === 1);
    expect(elected).toEqual(['high']);
    // The servers refused the first release. The leader then listed the queue.
    const requests = asked(leader).filter((request) => /multi|getChildren|setData/.test(request));
    expect(requests).toEqual(['leader multi', 'leader getChildren', 'leader multi']);
  });

  it('leads next at the latest at the change after the one that it came upon, at whatever moment', async () => {
    for (let turns = 0; turns < 24; turns++) {
      const { join, begin, elected } = await startElection();
      const [leader] = await begin('leader');
      const electors = [await join('a'), await join('b'), await join('c')];
      let isPlaced = false;
      const joining = join('high', 1).then((high) => {
        isPlaced = true;
        return high;
      });
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      const wasPlaced = isPlaced;
      await leader.stop();
      await joining;
      await until(() => elected.length === 1);
      if (wasPlaced) expect(elected).toEqual(['high']);
      if (elected[0] === 'high') continue;
      expect(elected).toEqual(['a']);
      await electors[0]?.stop();
      await until(() => elected.length === 2);
      expect(elected).toEqual(['a', 'high']);
    }
  });

  it('leads at the change after the one that it came upon when the leader had a successor to nominate', async () => {
    const { server, join, begin, elected } = await startElection();
    const [leader] = await begin('leader');
    await join('plain');
    const low = await join('low', 1);
    await settled(leader);
    const listing = server.delay(150, { only: 'getChildren', times: 1 });
    const stopped = leader.stop();
    await until(() => listing.hits === 1);
    await join('high', 2);
    await stopped;
    await until(() => elected.length === 1);
    await low.stop();
    await until(() => elected.length === 2);
    expect(elected).toEqual(['low', 'high']);
  });

  it('is nominated by a candidate that is stopped while its claim is under way', async () => {
    const { server, next, nextIsBack, elected } = await joinBeforeTheClaim();
    const claim = server.delay(150, { only: 'multi', path: PATH, times: 1 });
    nextIsBack();
    await until(() => claim.hits === 1);
    await next.stop();
    await until(() => elected.length === 1);
    expect(elected).toEqual(['high']);
  });

  it('is seen by the candidate that claims after it when it comes between a release and the claim', async () => {
    const { server, next, nextIsBack, elected } = await joinBeforeTheClaim();
    expect(server.count('setData')).toBe(0); // There was no leader to notify.
    nextIsBack();
    await until(() => elected.length === 1);
    await next.stop();
    await until(() => elected.length === 2);
    expect(elected).toEqual(['next', 'high']);
  });

  it('is seen by the next leader when the one that it was to notify has gone', async () => {
    const { server, join, begin, elected } = await startElection();
    const [leader] = await begin('leader');
    const next = await join('next');
    await join('plain');
    await settled(next);
    // The new candidate reads that the first one leads. It gets the answer only when the second one leads.
    const readers = () =>
      server.requests.filter(({ operation, paths }) => operation === 'getData' && paths[0] === PATH);
    server.resetCounts();
    server.delay(150, { only: 'getData', path: PATH });
    const joining = join('high', 1);
    await until(() => readers().length === 2); // One read as it joins, and one read after that.
    await leader.stop();
    await joining;
    await until(() => elected.length === 1);
    server.clearFaults();
    await next.stop();
    await until(() => elected.length === 2);
    expect(elected).toEqual(['next', 'high']);
    expect(server.count('setData')).toBe(0);
  });

  it('has its place all the same when it may not write on the leader’s node, and its turn a change later', async () => {
    const { server, join, begin, elected } = await startElection();
    const [leader] = await begin('leader');
    const next = await join('next');
    await join('plain');
    const refused = server.failWith('NO_AUTH', { operation: 'setData', path: await nodeOf(leader) });
    await join('high', 1);
    expect(refused.hits).toBe(1);
    await leader.stop();
    await until(() => elected.length === 1);
    await next.stop();
    await until(() => elected.length === 2);
    expect(elected).toEqual(['next', 'high']);
  });

  it('notifies the leader once when the reply to its mark is lost', async () => {
    const { server, join, begin, elected } = await startElection();
    const [leader] = await begin('leader');
    await join('plain');
    const lost = server.swallowReply('setData', { path: await nodeOf(leader) });
    await join('high', 1);
    expect([lost.hits, server.count('setData')]).toEqual([1, 1]);
    await leader.stop();
    await until(() => elected.length === 1);
    expect(elected).toEqual(['high']);
  });

  it('does not keep a place that its session has lost meanwhile', async () => {
    const { server, open, begin } = await startElection();
    const [leader] = await begin('leader');
    const session = await open();
    const late = server.delay(150, { only: 'getData', path: await nodeOf(leader) });
    const joining = campaign(session, PATH, { id: 'high', priority: 1 });
    joining.catch(ignore);
    await until(() => late.hits === 1);
    await session.close();
    await expect(joining).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    expect((await leader.candidates()).map(({ id }) => id)).toEqual(['leader']);
  });

  it('can be stopped while it notifies the leader', async () => {
    const { server, open, begin } = await startElection();
    const [leader] = await begin('leader');
    const elector = new LeaderElector(await open(), PATH, { id: 'high', priority: 1 });
    const late = server.delay(150, { only: 'getData', path: await nodeOf(leader) });
    const starting = elector.start();
    starting.catch(ignore);
    await until(() => late.hits === 1);
    await elector.stop();
    await expect(starting).rejects.toMatchObject({ code: 'INVALID_STATE' });
    expect((await leader.candidates()).map(({ id }) => id)).toEqual(['leader']);
  });
});

describe('a leader that has a candidate with a priority in its queue', () => {
  const ends = [
    ['stops', (leader: LeaderElector) => leader.stop()],
    ['resigns', (leader: LeaderElector) => leader.resign()],
    ['is revoked', (leader: LeaderElector) => revokeLeader(leader.session, PATH)],
  ] as const;

  it.each(ends)('is followed by that one when it %s', async (_, end) => {
    const { join, begin, elected } = await startElection();
    const [leader] = await begin('leader');
    await join('plain');
    await join('high', 1);
    await end(leader);
    await until(() => elected.length === 1);
    expect(elected).toEqual(['high']);
  });

  it.each(ends)('is followed by that one, which came before its term, when it %s', async (_, end) => {
    const { server, join, begin, elected } = await startElection();
    const [former] = await begin('former');
    const leader = await join('leader');
    await join('plain');
    const refused = server.failWith('NO_AUTH', { operation: 'setData' }); // Otherwise it would lead before that.
    await join('high', 1);
    refused.clear();
    await former.stop();
    await until(() => elected.length === 1);
    await end(leader);
    await until(() => elected.length === 2);
    expect(elected).toEqual(['leader', 'high']);
  });

  it('is followed by it when its work has finished', async () => {
    const { join, begin, elected } = await startElection();
    const work = deferred();
    await begin('leader', { lead: () => work.promise });
    await join('plain');
    await join('high', 1);
    work.resolve();
    await until(() => elected.length === 1);
    expect(elected).toEqual(['high']);
  });

  it('is followed by it when it came while the work settled', async () => {
    const { join, begin, elected } = await startElection();
    const [leader, term] = await begin('leader');
    const work = deferred();
    term.waitUntil(work.promise);
    await join('plain');
    const stopped = leader.stop();
    await join('high', 1);
    work.resolve();
    await stopped;
    await until(() => elected.length === 1);
    expect(elected).toEqual(['high']);
  });

  it('hands over to another one if it is asked to', async () => {
    const { join, begin, elected } = await startElection();
    const [leader] = await begin('leader');
    await join('plain');
    await join('named');
    await join('high', 1);
    await leader.handOver('named');
    await until(() => elected.length === 1);
    expect(elected).toEqual(['named']);
  });
});

describe('the note of one with a priority', () => {
  it('leaves a request to step down in place, and its refusal', async () => {
    const { join, begin, open, elected } = await startElection();
    const asked = deferred();
    const decision = deferred<boolean>();
    const onRevoke = () => {
      asked.resolve();
      return decision.promise;
    };
    const [leader, term] = await begin('leader', { onRevoke });
    await join('plain');
    const revoking = revokeLeader(await open(), PATH);
    revoking.catch(ignore);
    await asked.promise;
    await join('high', 1);
    decision.resolve(false);
    await expect(revoking).rejects.toBeInstanceOf(RevocationRefusedError);
    expect(term.isHeld()).toBe(true);
    await leader.stop();
    await until(() => elected.length === 1);
    expect(elected).toEqual(['high']);
  });

  it('stays when the leader advertises something else, also at the same moment', async () => {
    const { join, begin, elected } = await startElection();
    const [leader] = await begin('leader');
    const plain = await join('plain');
    let busy = true;
    const advertising = (async () => {
      for (let count = 0; busy; count++) await leader.advertise(`state ${count}`);
    })();
    await join('high', 1);
    busy = false;
    await advertising;
    await leader.advertise('last');
    expect((await plain.leader())?.data).toBe('last');
    await leader.stop();
    await until(() => elected.length === 1);
    expect(elected).toEqual(['high']);
  });
});

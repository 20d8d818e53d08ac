import { describe, expect, it, onTestFinished } from 'vitest';
import type { LeaderElectorOptions } from '../../src/election/elector-options.js';
import type { LeaderElector } from '../../src/election/leader-elector.js';
import { revokeLeader } from '../../src/election/revoke-leader.js';
import type { Term } from '../../src/election/term/term.js';
import { deferred } from '../../src/platform/async/promises.js';
import type { Session } from '../../src/session/session.js';
import type { EmbeddedZooKeeper, LoggedRequest } from '../../src/testing/index.js';
import { campaign, lead } from '../support/conclave/electors.js';
import { openSession } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { until } from '../support/waiting.mjs';

// On a server of its own, because the tests look at its requests.

const PATH = '/election';

async function startElection() {
  const server = await startEmbedded();
  /** Opens a session with a timeout so long that no heartbeat comes while the test looks at requests. */
  const open = () => openSession({ sessionTimeoutMs: 60_000 }, server.connectString);
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
  /** Waits until as many were elected as are named here: these, in this order. */
  const expectElected = async (...ids: string[]) => {
    await until(() => elected.length >= ids.length);
    expect(elected).toEqual(ids);
  };
  return { server, open, join, begin, asked, elected, expectElected };
}

/** Resolves when this elector has had all pending answers and notifications. */
async function settled(elector: LeaderElector): Promise<void> {
  await elector.session.exists('/');
  await elector.session.exists('/');
}

/** Lets a candidate with a priority join after the leader's release, and before the claim of the next in line, which is cut off. */
async function joinBeforeTheClaim() {
  const { server, join, begin, elected, expectElected } = await startElection();
  const [leader] = await begin('leader');
  const next = await join('next');
  await join('plain');
  await settled(next);
  const cutOff = server.sessionOf(`${PATH}/${(await leader.candidates())[1]?.node}`);
  cutOff?.partition();
  server.failWith('NO_AUTH', { operation: 'getChildren', times: 1 }); // So the leader's release leaves the record vacant.
  await leader.stop();
  server.resetCounts();
  await join('high', 1);
  return { server, next, nextIsBack: () => cutOff?.heal(), elected, expectElected };
}

/** Starts a leader that has listed its queue. The next candidate follows the leader's heartbeats. */
async function leadWithNext(
  server: EmbeddedZooKeeper,
  begin: (id: string) => Promise<[LeaderElector, ...unknown[]]>,
  join: (id: string) => Promise<LeaderElector>,
) {
  const [first] = await begin('first');
  const leader = await join('leader');
  const next = await join('next');
  await eventAfter(leader, 'elected', () => first.stop());
  await settled(leader);
  server.resetCounts();
  const lists = ({ operation, session }: LoggedRequest) =>
    operation === 'getChildren' && session?.id === leader.session.credentials.id;
  await until(() => server.requests.some(lists));
  const { id } = next.session.credentials;
  const watches = () =>
    server.requests.some(({ session, paths: [path = ''] }) => session?.id === id && path.includes('/_h_'));
  await until(watches);
  await settled(next);
  return { leader, next };
}

describe('a clean handover', () => {
  it.each([
    ['stopped', (leader: LeaderElector) => leader.stop(), 1],
    ['resigned', (leader: LeaderElector) => leader.resign(), 1],
    ['revoked', (_: LeaderElector, other: Session) => revokeLeader(other, PATH), 2], // Also of the leader's node, which has changed.
  ] as const)(
    'of a leader that has %s takes one write, and one read and one proof of the next one, which claims nothing',
    async (_, end, reads) => {
      const { server, open, join, begin, asked } = await startElection();
      const { leader, next } = await leadWithNext(server, begin, join);
      const other = await open();
      server.resetCounts();
      const elected = nextEvent(next, 'elected');
      const askedBefore = elected.then(() => asked(next));
      const ended = end(leader, other);
      const read = Array.from({ length: reads }, () => 'next getData');
      expect((await askedBefore).sort()).toEqual([...read, 'next multi']);
      const requests = asked(leader).filter((request) => /multi|getChildren/.test(request));
      expect(requests[0]).toBe('leader multi'); // It joins again behind that.
      const writes = server.requests.filter(
        ({ operation, paths }) => operation === 'multi' && paths.includes(PATH),
      );
      expect(writes).toHaveLength(2); // The release, and the proof, which checks the record.
      expect(asked(next).filter((request) => !/getData|exists|multi/.test(request))).toEqual([]);
      await ended;
    },
  );

  it('of a leader that alone has a priority, and has just been elected, takes a listing and one write', async () => {
    const { server, join, begin, asked } = await startElection();
    const [leader] = await begin('leader', { priority: 1 });
    const next = await join('next');
    await settled(next);
    server.resetCounts();
    await eventAfter(next, 'elected', () => leader.stop());
    expect(asked(leader)).toEqual(['leader getChildren', 'leader removeWatches', 'leader multi']);
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
  it('leads next, before all that joined earlier, and writes nothing on the leader’s node', async () => {
    const { server, join, begin, expectElected } = await startElection();
    const [leader, term] = await begin('leader');
    await join('plain');
    await join('low', 1);
    await join('high', 2);
    expect(server.count('setData')).toBe(0);
    await settled(leader);
    expect(term.isHeld()).toBe(true);
    await leader.stop();
    await expectElected('high');
  });

  it('leads next at the latest at the change after the one that it came upon, at whatever moment', async () => {
    for (let turns = 0; turns < 24; turns++) {
      const { join, begin, elected, expectElected } = await startElection();
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
      await expectElected('a', 'high');
    }
  });

  it('leads at the change after the one that it came upon when the leader had a successor to nominate', async () => {
    const { server, join, begin, elected, expectElected } = await startElection();
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
    await expectElected('low', 'high');
  });

  it('is nominated by a candidate that is stopped while its claim is under way', async () => {
    const { server, next, nextIsBack, expectElected } = await joinBeforeTheClaim();
    const claim = server.delay(150, { only: 'multi', path: PATH, times: 1 });
    nextIsBack();
    await until(() => claim.hits === 1);
    await next.stop();
    await expectElected('high');
  });

  it('is seen by the candidate that claims after it when it comes between a release and the claim', async () => {
    const { next, nextIsBack, elected, expectElected } = await joinBeforeTheClaim();
    nextIsBack();
    await until(() => elected.length === 1);
    await next.stop();
    await expectElected('next', 'high');
  });
});

describe('a leader that has a candidate with a priority in its queue', () => {
  const ends = [
    ['stops', (leader: LeaderElector) => leader.stop()],
    ['resigns', (leader: LeaderElector) => leader.resign()],
    ['is revoked', (leader: LeaderElector) => revokeLeader(leader.session, PATH)],
  ] as const;

  it.each(ends)('is followed by that one when it %s', async (_, end) => {
    const { join, begin, expectElected } = await startElection();
    const [leader] = await begin('leader');
    await join('plain');
    await join('high', 1);
    await end(leader);
    await expectElected('high');
  });

  it.each(ends)('is followed by that one, which came before its term, when it %s', async (_, end) => {
    const { join, begin, elected, expectElected } = await startElection();
    const [former] = await begin('former');
    const leader = await join('leader');
    await join('plain');
    await join('high', 1);
    await former.handOver('leader'); // Otherwise the candidate with the priority would lead before it.
    await until(() => elected.length === 1);
    await end(leader);
    await expectElected('leader', 'high');
  });

  it('is followed by it when its work has finished', async () => {
    const { join, begin, expectElected } = await startElection();
    const work = deferred();
    await begin('leader', { lead: () => work.promise });
    await join('plain');
    await join('high', 1);
    work.resolve();
    await expectElected('high');
  });

  it('is followed by it when it came while the work settled', async () => {
    const { join, begin, expectElected } = await startElection();
    const [leader, term] = await begin('leader');
    const work = deferred();
    term.waitUntil(work.promise);
    await join('plain');
    const stopped = leader.stop();
    await join('high', 1);
    work.resolve();
    await stopped;
    await expectElected('high');
  });
});

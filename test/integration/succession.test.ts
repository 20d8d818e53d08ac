import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { serializeCandidate } from '../../src/election/candidates/candidate.js';
import { candidateUuid } from '../../src/election/candidates/candidate-uuid.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { parseRecord } from '../../src/election/record/election-record.js';
import type { Term } from '../../src/election/term/term.js';
import { InvalidOptionError, InvalidStateError, NoCandidateError } from '../../src/errors.js';
import { joinQueue } from '../../src/queue/join-queue.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import { campaign, lead } from '../support/conclave/electors.js';
import { openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { deferred, until } from '../support/waiting.mjs';

/**
 * Starts candidates 'c0' to 'c<n-1>' in this order, each with a session of its own. The first one leads. Records which candidates
 * are elected.
 */
async function queueOf(count: number, path: string, options: SessionOptions = {}) {
  const elected: string[] = [];
  const overlaps: string[] = [];
  const electors: LeaderElector[] = [];
  let acting: Term | undefined;
  for (let index = 0; index < count; index++) {
    const elector = new LeaderElector(await openSession(options), path, { id: `c${index}` });
    elector.on('elected', (term) => {
      if (acting?.isHeld()) overlaps.push(`${elector.id} while term ${acting.number} was held`);
      acting = term;
      elected.push(elector.id);
    });
    const first = index === 0 ? nextEvent(elector, 'elected') : undefined;
    await elector.start();
    await first;
    electors.push(elector);
  }
  return { electors, elected, overlaps };
}

describe('a planned handover', () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])(
    'reaches the candidate at place %i of ten; those ahead of it lead after it, in their order',
    async (place) => {
      const path = uniquePath('handover');
      const { electors, elected, overlaps } = await queueOf(10, path);
      const [leader, successor] = [electors[0], electors[place]] as [LeaderElector, LeaderElector];
      const [term] = await eventAfter<[Term]>(successor, 'elected', () => leader.handOver(`c${place}`));
      expect(term.number).toBe(2);
      expect(elected).toEqual(['c0', `c${place}`]);
      // After that the queue decides again. Each candidate leads once, the first leader at the end.
      const order = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9'].filter((id) => id !== `c${place}`);
      let now = successor;
      for (const id of [...order, 'c0']) {
        const next = electors[Number(id.slice(1))] as LeaderElector;
        await eventAfter(next, 'elected', () => now.stop());
        now = next;
      }
      expect(elected).toEqual(['c0', `c${place}`, ...order, 'c0']);
      expect(overlaps).toEqual([]);
    },
  );

  it('to a candidate that dies during it leaves one leader and no candidate stuck', async () => {
    const path = uniquePath('handover');
    const { electors, elected, overlaps } = await queueOf(4, path);
    const [leader, , , successor] = electors as [LeaderElector, LeaderElector, LeaderElector, LeaderElector];
    const work = deferred();
    leader.term?.waitUntil(work.promise);
    const next = nextEvent(electors[1] as LeaderElector, 'elected');
    const handedOver = leader.handOver('c3');
    await nextEvent(leader, 'demoted');
    await successor.stop(); // The successor leaves after it was named, and before the leader is gone.
    work.resolve();
    await next;
    await handedOver;
    expect(elected).toEqual(['c0', 'c1']);
    expect(overlaps).toEqual([]);
  });

  it('to a candidate that does nothing lets the next in line lead a lease after the end of its session', async () => {
    const path = uniquePath('handover');
    const session = await openSession({ leaseMs: 1000 });
    const [leader] = await lead(session, path);
    const next = await campaign(await openSession({ leaseMs: 1000 }), path, { id: 'next' });
    // A node that looks like a candidate's, but has no process.
    const idleSession = await openSession();
    const name = candidateUuid(randomUUID(), 0, 1000);
    const idle = await joinQueue(idleSession, path, {
      id: name,
      data: serializeCandidate('idle', undefined),
    });
    const elected = nextEvent<[Term]>(next, 'elected');
    await leader.handOver('idle');
    expect((await leader.leader())?.id).toBe('idle');
    expect(next.state.name).toBe('waiting');
    await idleSession.close();
    const [term] = await elected;
    expect([term.number, await session.exists(idle.node.path)]).toEqual([3, undefined]);
  });

  it('by a leader that dies before it has released is waited out, by the next candidate that comes to claim', async () => {
    const path = uniquePath('handover');
    const proxy = await startProxy();
    const [leader, term] = await lead(
      await openSession({ sessionTimeoutMs: 1000 }, proxy.connectString),
      path,
    );
    const electors = await Promise.all(
      [1, 2, 3].map(async () => campaign(await openSession({ sessionTimeoutMs: 1000 }), path)),
    );
    const overlaps: string[] = [];
    const first = Promise.race(electors.map((elector) => nextEvent<[Term]>(elector, 'elected')));
    for (const elector of electors)
      elector.on('elected', () => overlaps.push(...(term.isHeld() ? ['held'] : [])));
    term.waitUntil(new Promise(() => undefined));
    void leader.handOver(electors[2]?.id as string);
    await nextEvent(leader, 'demoted');
    proxy.cut();
    const [next] = await first;
    expect(next.number).toBe(2);
    expect(overlaps).toEqual([]);
  });

  it('is refused without a leader, and without such a candidate', async () => {
    const { session, path } = await openWithPath('handover');
    const [leader, term] = await lead(session, path, { id: 'only' });
    await expect(leader.handOver('missing')).rejects.toBeInstanceOf(NoCandidateError);
    await expect(leader.handOver('only')).rejects.toMatchObject({ code: 'NO_CANDIDATE', candidate: 'only' });
    const foreign = await joinQueue(await openSession(), path, { data: Buffer.from('10.0.0.1') });
    await expect(leader.handOver(foreign.entry.node)).rejects.toBeInstanceOf(NoCandidateError);
    expect(term.isHeld()).toBe(true);
    await foreign.leave();
    await leader.stop();
    await expect(leader.handOver('only')).rejects.toBeInstanceOf(InvalidStateError);
  });

  it('is not lost when the candidate advertises at the same moment', async () => {
    const path = uniquePath('handover');
    const { electors, elected } = await queueOf(3, path, { sessionTimeoutMs: 30_000 });
    const [leader, , successor] = electors as [LeaderElector, LeaderElector, LeaderElector];
    const taken = nextEvent(successor, 'elected');
    // For shorter than a lease. If it went on, the queue would decide in the end.
    const advertising = (async () => {
      for (let count = 0; count < 50; count++) await successor.advertise(`state ${count}`);
    })();
    await leader.handOver('c2');
    await taken;
    await advertising;
    expect(elected).toEqual(['c0', 'c2']);
  });
});

describe('a candidate with a higher priority', () => {
  it('is preferred at the next change, wherever it is in the queue, and takes nothing by force', async () => {
    const path = uniquePath('priority');
    const [leader, term] = await lead(await openSession(), path, { id: 'leader' });
    const plain = await campaign(await openSession(), path, { id: 'plain' });
    const low = await campaign(await openSession(), path, { id: 'low', priority: 1 });
    const high = await campaign(await openSession(), path, { id: 'high', priority: 255 });
    const alike = await campaign(await openSession(), path, { id: 'alike', priority: 255 });
    expect(term.isHeld()).toBe(true);
    const order: string[] = [];
    for (const elector of [plain, low, high, alike]) elector.on('elected', () => order.push(elector.id));
    let now = leader;
    for (const next of [high, alike, low, plain]) {
      await eventAfter(next, 'elected', () => now.stop());
      now = next;
    }
    expect(order).toEqual(['high', 'alike', 'low', 'plain']);
  });

  it.each([-1, 256, 1.5, '1', null])('can not be %j', async (priority) => {
    const session = await openSession();
    const wrong = () => new LeaderElector(session, uniquePath(), { priority: priority as never });
    expect(wrong).toThrow(InvalidOptionError);
  });
});

it('the record is written once for each change of leader, and says vacant only when nobody follows', async () => {
  const { session, path } = await openWithPath('versions');
  const writes: string[] = [];
  const note = async () => {
    const { data, stat } = await session.getData(path);
    const record = parseRecord(data, stat.version);
    writes.push(
      record.state === 'held' ? `${stat.version}: ${record.id}, term ${record.term}` : record.state,
    );
  };
  const [first] = await lead(await openSession(), path, { id: 'a' });
  await note();
  const proxy = await startProxy();
  const doomed = await campaign(await openSession({ sessionTimeoutMs: 600 }, proxy.connectString), path, {
    id: 'b',
  });
  const heir = await campaign(await openSession(), path, { id: 'c' });
  await first.handOver('b');
  await until(() => doomed.isLeader);
  await note();
  await eventAfter(heir, 'elected', () => proxy.cut()); // The third candidate claims over a held record.
  await note();
  await until(() => first.state.name === 'waiting');
  const named = await campaign(await openSession(), path, { id: 'd' });
  await eventAfter(named, 'elected', () => heir.handOver('d'));
  await note();
  await Promise.all([first.stop(), heir.stop()]);
  await named.stop();
  await note();
  expect(writes).toEqual(['1: a, term 1', '2: b, term 2', '3: c, term 3', '4: d, term 4', 'vacant']);
});

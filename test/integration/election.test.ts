import { describe, expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { parseRecord, serializeRecord } from '../../src/election/record/election-record.js';
import type { Term } from '../../src/election/term/term.js';
import {
  type DemotionReason,
  InvalidStateError,
  SessionExpiredError,
  TermEndedError,
} from '../../src/errors.js';
import type { Session } from '../../src/session/session.js';
import { campaign, candidateNodes, DEAD, lead } from '../support/conclave/electors.js';
import { openProxied, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { aborted, errorsOf, eventAfter, nextEvent, recordEvents } from '../support/events.js';
import { deferred, until } from '../support/waiting.mjs';

const EVENTS = ['waiting', 'elected', 'demoted', 'expired', 'stopped', 'error'];

async function recordOf(session: Session, path: string) {
  const { data, stat } = await session.getData(path);
  return parseRecord(data, stat.version);
}

describe('an election', () => {
  it('is led in the order of joining over 20 resignations, one at a time, with rising tokens and terms 1, 2, 3…', async () => {
    const path = uniquePath('election');
    const leaders: string[] = [];
    const terms: Term[] = [];
    const wrong: unknown[] = [];
    let working = 0;
    const electors: LeaderElector[] = [];
    let next = deferred();
    for (let index = 0; index < 5; index++) {
      const elector = new LeaderElector(await openSession(), path, {
        id: `e${index}`,
        lead: async (term) => {
          if (++working > 1) wrong.push('two at work');
          await aborted(term.signal);
          await new Promise((resolve) => setImmediate(resolve));
          working--;
        },
      });
      elector.on('elected', (term) => {
        if (terms.some((former) => former.isHeld())) wrong.push('two terms held');
        leaders.push(elector.id);
        terms.push(term);
        next.resolve();
      });
      elector.on('error', (error) => void wrong.push(error));
      electors.push(elector);
    }
    for (const elector of electors) await elector.start();
    await next.promise;
    for (let round = 0; round < 20; round++) {
      next = deferred();
      const leader = electors.find(({ term }) => term !== undefined);
      await leader?.resign();
      await next.promise;
    }
    expect(leaders).toEqual(Array.from({ length: 21 }, (_, round) => `e${round % 5}`));
    expect(terms.map(({ number }) => number)).toEqual(Array.from({ length: 21 }, (_, round) => round + 1));
    for (const [index, term] of terms.entries()) {
      if (index > 0) expect(term.token).toBeGreaterThan(terms[index - 1]?.token as bigint);
    }
    await Promise.all(electors.map((elector) => elector.stop()));
    const observer = await openSession();
    expect(await observer.getChildren(path)).toEqual([]);
    // If a term was handed to an elector while it stopped, the elector has given the term back.
    expect((await recordOf(observer, path)).state).toBe('vacant');
    expect(wrong).toEqual([]);
  });

  it('shows its candidates in order, what they advertise, and who leads', async () => {
    const { session, path } = await openWithPath('election');
    const empty = new LeaderElector(session, path);
    expect(await empty.candidates()).toEqual([]);
    expect(await empty.leader()).toBeUndefined();
    const [one] = await lead(session, path, { id: 'one', data: 'http://one' });
    const two = await campaign(await openSession(), path, { id: 'two', data: new Uint8Array([1, 2]) });
    expect(await two.candidates()).toMatchObject([
      { id: 'one', position: 0, data: 'http://one' },
      { id: 'two', position: 1, data: new Uint8Array([1, 2]) },
    ]);
    expect(await two.leader()).toMatchObject({ id: 'one' });
    await one.advertise('http://other');
    expect(await two.leader()).toMatchObject({ id: 'one', data: 'http://other' });
    expect(one.term?.isHeld()).toBe(true);
    await Promise.all([one.stop(), two.stop()]);
    expect(await empty.leader()).toBeUndefined();
  });

  it('reports its place to a waiter', async () => {
    const path = uniquePath('election');
    const [one] = await lead(await openSession(), path);
    const two = new LeaderElector(await openSession(), path);
    const [place] = await eventAfter<[{ position: number; ahead: string }]>(two, 'waiting', () =>
      two.start(),
    );
    expect(place.position).toBe(1);
    expect((await two.candidates())[0]?.node).toBe(place.ahead);
    expect(two.state).toEqual({ name: 'waiting', ...place });
    await eventAfter(two, 'elected', () => one.stop());
    await two.stop();
  });

  it('has the zxid of its claim for a token, and the leader in its record', async () => {
    const { session, path } = await openWithPath('election');
    const [elector, term] = await lead(session, path, { id: 'one' });
    const { stat } = await session.getData(path);
    expect(term.token).toBe(stat.mzxid);
    expect(await recordOf(session, path)).toMatchObject({
      state: 'held',
      term: 1,
      id: 'one',
      leaseMs: session.leaseMs,
    });
    await elector.stop();
  });
});

describe('the end of a term', () => {
  it('goes state, signal, demoted, work settled, release, in this order', async () => {
    const { session, path } = await openWithPath('election');
    const observer = await openSession();
    const steps: string[] = [];
    const working = deferred();
    const elector = new LeaderElector(session, path, {
      lead: async (term) => {
        working.resolve();
        term.signal.addEventListener('abort', () => void steps.push(`signal in ${elector.state.name}`));
        await aborted(term.signal);
        await new Promise((resolve) => setTimeout(resolve, 50));
        steps.push(`settled while ${(await recordOf(observer, path)).state}`);
      },
    });
    elector.on('demoted', (term, reason) => void steps.push(`demoted ${reason}, held ${term.isHeld()}`));
    const [term] = await eventAfter<[Term]>(elector, 'elected', () => elector.start());
    await working.promise;
    await elector.stop();
    steps.push((await recordOf(observer, path)).state);
    expect(steps).toEqual([
      'signal in ending',
      'demoted stopped, held false',
      'settled while held',
      'vacant',
    ]);
    expect(() => term.assertHeld()).toThrow(TermEndedError);
    expect(term.signal.reason).toMatchObject({ code: 'TERM_ENDED', reason: 'stopped', term: 1 });
  });

  it('waits for everything given to waitUntil, also what is added late', async () => {
    const path = uniquePath('election');
    const [elector, term] = await lead(await openSession(), path);
    const finished: string[] = [];
    const work = async (name: string) => {
      await aborted(term.signal);
      finished.push(name);
      if (name === 'first') term.waitUntil(work('second'));
    };
    term.waitUntil(work('first'));
    await elector.stop();
    expect(finished).toEqual(['first', 'second']);
    expect(() => term.waitUntil(Promise.resolve())).toThrow(TermEndedError);
  });

  it('comes when lead returns, and the elector joins again', async () => {
    const path = uniquePath('election');
    const reasons: DemotionReason[] = [];
    const elector = new LeaderElector(await openSession(), path, { lead: () => Promise.resolve('done') });
    elector.on('demoted', (_, reason) => void reasons.push(reason));
    await elector.start();
    await until(() => reasons.length === 2);
    await elector.stop();
    expect(reasons.slice(0, 2)).toEqual(['finished', 'finished']);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('comes when lead %s, which is reported, and others lead', async (_, work) => {
    const path = uniquePath('election');
    const elector = new LeaderElector(await openSession(), path, { lead: work });
    const events = recordEvents(elector, 'elected', 'demoted', 'error');
    const reported = nextEvent(elector, 'error');
    await elector.start();
    const other = await campaign(await openSession(), path);
    expect(await reported).toMatchObject([{ code: 'LEAD_FAILED', cause: { message: 'broken' } }]);
    expect(events.slice(0, 3)).toEqual(['elected', 'demoted', 'error']);
    if (other.term === undefined) await nextEvent(other, 'elected');
    await Promise.all([elector.stop(), other.stop()]);
  });

  it('may be asked for by the work itself, which does not wait for its own end', async () => {
    const { session, path } = await openWithPath('election');
    const steps: string[] = [];
    const elector: LeaderElector = new LeaderElector(session, path, {
      lead: async (term) => {
        await (term.number === 1 ? elector.resign() : elector.stop());
        steps.push(`${term.number} ${term.signal.aborted}`);
      },
    });
    await eventAfter(elector, 'stopped', () => elector.start());
    expect(steps).toEqual(['1 true', '2 true']);
    expect(await session.getChildren(path)).toEqual([]);
  });

  it("comes with node-deleted when another client deletes the leader's node; one leads after that (CURATOR-49, -171)", async () => {
    const { session, path } = await openWithPath('election');
    const observer = await openSession();
    const [elector, term] = await lead(session, path);
    const demoted = nextEvent(elector, 'demoted');
    const [node] = await candidateNodes(observer, path);
    const [next] = await eventAfter<[Term]>(elector, 'elected', () => observer.remove(`${path}/${node}`));
    expect(await demoted).toEqual([term, 'node-deleted']);
    expect(next.number).toBe(2);
    expect(await candidateNodes(observer, path)).toHaveLength(1);
    await elector.stop();
  });

  it('comes with lease-expired when no server is heard within the lease, before another leads, long before the session ends (CURATOR-460)', async () => {
    const path = uniquePath('election');
    const times = { sessionTimeoutMs: 20_000, leaseMs: 600 }; // The session outlasts the test by far.
    const { proxy, session } = await openProxied(times);
    const [elector, term] = await lead(session, path);
    const other = await campaign(await openSession(times), path);
    const demoted = nextEvent(elector, 'demoted');
    const elected = nextEvent<[Term]>(other, 'elected').then(([next]) => {
      expect(term.isHeld()).toBe(false);
      return next;
    });
    proxy.partition();
    expect(await demoted).toEqual([term, 'lease-expired']);
    const next = await elected;
    expect(next.number).toBe(2);
    expect(next.token).toBeGreaterThan(term.token);
    proxy.restore();
    await until(() => elector.state.name === 'waiting'); // Its session lives, so it joins again.
    await Promise.all([elector.stop(), other.stop()]);
  });

  it('comes only once its lease is over: a lost connection alone demotes no leader', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 9000 });
    const [elector, term] = await lead(session, path);
    const events = recordEvents(elector, ...EVENTS);
    await eventAfter(session, 'suspended', () => proxy.cut());
    expect(term.isHeld()).toBe(true);
    await eventAfter(session, 'resumed', () => proxy.restore());
    expect(term.isHeld()).toBe(true);
    expect(events).toEqual([]);
    await elector.stop();
  });

  it('is followed by a clean release when the lease was lost and the session was not', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 30_000, leaseMs: 300 });
    const [elector] = await lead(session, path);
    const other = await campaign(await openSession(), path, { takeoverDelayMs: 50_000 });
    await eventAfter(elector, 'demoted', () => proxy.cut());
    const [term] = await eventAfter<[Term]>(other, 'elected', () => proxy.restore());
    expect(term.number).toBe(2);
    await until(() => elector.state.name === 'waiting');
    await Promise.all([elector.stop(), other.stop()]);
  });

  it('keeps the node, and its lease, while the work takes its time to settle', async () => {
    const path = uniquePath('election');
    const session = await openSession({ sessionTimeoutMs: 3000, leaseMs: 2500 });
    const work = deferred();
    const [elector] = await lead(session, path, { lead: () => work.promise });
    const other = await campaign(await openSession(), path);
    const errors = errorsOf(elector);
    const stopping = elector.stop();
    await new Promise((resolve) => setTimeout(resolve, 3500)); // Longer than a lease, and than the session timeout.
    expect(other.term).toBeUndefined();
    // The lease isn't over, so the elector reports that its stop is pending, and not an overrun.
    expect(errors).toMatchObject([{ code: 'STOP_PENDING', term: 1 }]);
    const elected = nextEvent(other, 'elected');
    work.resolve();
    await stopping;
    await elected;
    await other.stop();
  });
});

describe('an unclean end', () => {
  it.each([
    ['is waited out: the former lease and a little more', undefined, 500 * 1.03 + 50],
    ['is waited out for no shorter a time with takeoverDelayMs 0', 0, 500 * 1.03 + 50],
    ['is waited out for longer with a longer takeoverDelayMs', 900, 900],
  ])('%s', async (_, takeoverDelayMs, leastMs) => {
    const { session, path } = await openWithPath('election');
    await session.create(path, { data: serializeRecord(DEAD) });
    const began = performance.now();
    const [elector, term] = await lead(session, path, { takeoverDelayMs });
    expect(performance.now() - began).toBeGreaterThanOrEqual(leastMs);
    expect(term.number).toBe(42);
    await elector.stop();
  });

  it('is what a record that can not be read counts as', async () => {
    const path = uniquePath('election');
    const session = await openSession({ leaseMs: 1000 });
    await session.create(path, { data: Buffer.from('<html>') });
    const began = performance.now();
    const [elector, term] = await lead(session, path);
    expect(performance.now() - began).toBeGreaterThanOrEqual(session.leaseMs);
    expect(term.number).toBe(2); // By the version of the record, which was emptied.
    await elector.stop();
  });
});

describe('a lost reply', () => {
  it('to the claim: it is looked up, and leads once', async () => {
    const { proxy, session, path } = await openProxied();
    const lost = proxy.loseReplyTo('multi', { text: '"state":"held"' });
    const elector = new LeaderElector(session, path);
    const events = recordEvents(elector, ...EVENTS);
    const [term] = await eventAfter<[Term]>(elector, 'elected', () => elector.start());
    await lost;
    expect(term.number).toBe(1);
    expect(term.token).toBe((await session.retryUntilAnswered(() => session.getData(path))).stat.mzxid);
    expect(term.isHeld()).toBe(true);
    await elector.stop();
    expect(events).toEqual(['elected', 'demoted', 'stopped']);
  });

  it('to the release: it is done once, and the next leads without the delay', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 30_000 });
    const [elector] = await lead(session, path);
    const other = await campaign(await openSession(), path, { takeoverDelayMs: 50_000 });
    const lost = proxy.loseReplyTo('multi', { text: '"term":2' });
    const [term] = await eventAfter<[Term]>(other, 'elected', () => elector.stop());
    await lost;
    expect(term.number).toBe(2);
    expect(await other.candidates()).toHaveLength(1);
    await other.stop();
  });

  it('to the create: one place in the queue, and it leads', async () => {
    const { proxy, session, path } = await openProxied();
    const [other] = await lead(await openSession(), path);
    const lost = proxy.loseReplyTo('multi', { text: '/_h_' });
    const elector = await campaign(session, path);
    await lost;
    expect(await elector.candidates()).toHaveLength(2);
    await eventAfter(elector, 'elected', () => other.stop());
    await elector.stop();
    expect(await session.getChildren(path)).toEqual([]);
  });
});

describe('stopping an elector', () => {
  it('at any moment, also before or while it joins, settles and leaves no node', async () => {
    const { session, path } = await openWithPath('election');
    for (let moment = 0; moment < 25; moment++) {
      const elector = new LeaderElector(session, path);
      const events = recordEvents(elector, 'elected', 'demoted', 'stopped');
      const starting = elector.start().catch((error: unknown) => error);
      for (let turn = 0; turn < moment; turn++) await new Promise((resolve) => setImmediate(resolve));
      await elector.stop();
      const outcome = await starting;
      if (outcome !== undefined) expect(outcome).toBeInstanceOf(InvalidStateError);
      expect(elector.state.name).toBe('stopped');
      expect(events.filter((event) => event === 'elected')).toHaveLength(
        events.filter((event) => event === 'demoted').length,
      );
      expect(events.at(-1)).toBe('stopped');
      expect(await session.getChildren(path).catch(() => [])).toEqual([]);
    }
  });

  it('with no server in reach, while leading or waiting, settles within a lease and a little', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 3000 });
    const [leader] = await lead(session, path);
    const waiter = await campaign(session, path);
    const joining = new LeaderElector(session, path);
    await eventAfter(session, 'suspended', () => proxy.cut());
    const started = joining.start().catch((error: unknown) => error);
    const began = performance.now();
    await Promise.all([leader.stop(), waiter.stop(), joining.stop()]);
    expect(performance.now() - began).toBeLessThan(session.leaseMs + 500);
    expect(await started).toBeInstanceOf(InvalidStateError);
    proxy.restore();
    const observer = await openSession();
    await until(async () => (await observer.getChildren(path)).length === 0);
    expect(await recordOf(observer, path)).toEqual({ state: 'vacant', term: 1 });
  });

  it('before it was started, or twice, is no error; starting it again is', async () => {
    const session = await openSession();
    const elector = new LeaderElector(session, uniquePath('election'));
    const events = recordEvents(elector, ...EVENTS);
    await Promise.all([elector.stop(), elector.stop()]);
    await expect(elector.start()).rejects.toBeInstanceOf(InvalidStateError);
    expect(events).toEqual(['stopped']);
  });

  it('follows from closing its session, in which case a term ends as stopped', async () => {
    const session = await openSession();
    const [elector] = await lead(session, uniquePath('election'));
    const stopped = nextEvent(elector, 'stopped');
    const [, reason] = await eventAfter<[Term, DemotionReason]>(elector, 'demoted', () => session.close());
    expect(reason).toBe('stopped');
    await stopped;
  });
});

it('an elector whose session expires is finished: demoted, expired, and nothing after that', async () => {
  const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 800, leaseMs: 700 });
  const observer = await openSession();
  const [elector, term] = await lead(session, path);
  const waiter = await campaign(session, path);
  await until(() => waiter.state.name === 'waiting');
  const events = recordEvents(elector, ...EVENTS);
  const waiterEvents = recordEvents(waiter, ...EVENTS);
  const expired = Promise.all([nextEvent(elector, 'expired'), nextEvent(waiter, 'expired')]);
  proxy.cut();
  await until(async () => (await observer.getChildren(path)).length === 0, 'the expiry');
  proxy.restore();
  await expired;
  expect(term.isHeld()).toBe(false);
  expect(waiter.state.name).toBe('expired');
  await until(() => elector.state.name === 'expired'); // This comes when its work has settled.
  expect(events).toEqual(['demoted', 'expired']);
  expect(waiterEvents).toEqual(['expired']);
  await expect(new LeaderElector(session, path).start()).rejects.toBeInstanceOf(SessionExpiredError);
});

describe('a listener that throws', () => {
  it('reaches error, and the election goes on', async () => {
    const path = uniquePath('election');
    const elector = new LeaderElector(await openSession(), path);
    const reported: unknown[] = [];
    elector.on('error', (error) => {
      reported.push(error);
      throw new Error('not here either');
    });
    for (const event of ['elected', 'demoted', 'stopped'] as const) {
      elector.on(event, () => {
        throw new Error(`no ${event}`);
      });
    }
    await eventAfter(elector, 'elected', () => elector.start());
    await elector.resign();
    await until(() => elector.term !== undefined);
    await elector.stop();
    const causes = reported.map((error) => (error as { event: string }).event);
    expect(causes).toEqual(['elected', 'demoted', 'elected', 'demoted', 'stopped']);
  });

  it('may resign or stop at once: lead is not called then', async () => {
    const path = uniquePath('election');
    let calls = 0;
    const session = await openSession();
    const elector = new LeaderElector(session, path, { lead: () => void calls++ });
    elector.on('elected', () => void elector.stop());
    await eventAfter(elector, 'stopped', () => elector.start());
    expect(calls).toBe(0);
    expect(await session.getChildren(path)).toEqual([]);
  });

  it('may block for longer than the session lasts: the work never starts, or starts with a term that is over (CURATOR-54)', async () => {
    const { proxy, session, path } = await openProxied({ sessionTimeoutMs: 800 });
    const began: boolean[] = [];
    const elector = new LeaderElector(session, path, {
      lead: (term) => void began.push(term.isHeld() && !term.signal.aborted),
    });
    // Right before the work would begin, this listener blocks for longer than the session lasts.
    elector.once('elected', () => {
      proxy.partition();
      const end = performance.now() + 1200;
      while (performance.now() < end);
    });
    const [, reason] = await eventAfter<[Term, string]>(elector, 'demoted', () => elector.start());
    expect(reason).not.toBe('finished');
    expect(began.filter(Boolean)).toEqual([]);
    proxy.restore();
    await elector.stop();
  });
});

it('a refusal by the server rejects start, and the elector is stopped', async () => {
  const path = uniquePath('election');
  const alice = await openSession({ auth: { scheme: 'digest', credentials: 'alice:a' } });
  await alice.ensurePath(path);
  const elector = new LeaderElector(await openSession(), path);
  const events = recordEvents(elector, ...EVENTS);
  await expect(elector.start()).rejects.toMatchObject({ code: 'NO_AUTH' });
  await elector.stop();
  expect(events).toEqual(['stopped']);
});

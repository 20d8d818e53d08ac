import { describe, expect, it } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/supervisor.js';
import type { Candidate } from '../../src/election/candidates/candidate.js';
import { LeaderElector } from '../../src/election/elector.js';
import type { LeaderElectorOptions } from '../../src/election/elector-options.js';
import { ElectionObserver } from '../../src/election/observer/observer.js';
import { revokeLeader } from '../../src/election/revoke-leader.js';
import type { Term } from '../../src/election/term/term.js';
import { InvalidOptionError, InvalidStateError, SeatsMismatchError } from '../../src/errors.js';
import { lead } from '../support/conclave/electors.js';
import { connectString, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { until } from '../support/waiting.mjs';

/** Starts electors of one election one after the other, each on a session of its own. */
async function joinAll(count: number, options: LeaderElectorOptions, path = uniquePath('seats')) {
  const electors: LeaderElector[] = [];
  for (let index = 0; index < count; index++) {
    const elector = new LeaderElector(await openSession({ sessionTimeoutMs: 2000 }), path, {
      ...options,
      id: `e${index}`,
    });
    await elector.start();
    electors.push(elector);
  }
  return { path, electors };
}

function leading(electors: LeaderElector[]): Term[] {
  return electors.map(({ term }) => term).filter((term) => term !== undefined);
}

describe('an election with several seats', () => {
  it('has as many leaders as seats, each on its own, the first that came; the others wait', async () => {
    const { electors, path } = await joinAll(5, { seats: 3 });
    await until(() => leading(electors).length === 3 && electors[4]?.state.name === 'waiting');
    expect(
      leading(electors.slice(0, 3))
        .map(({ seat }) => seat)
        .sort(),
    ).toEqual([0, 1, 2]);
    expect(electors.slice(3).map(({ state }) => state.name)).toEqual(['waiting', 'waiting']);
    expect(electors[4]?.state).toMatchObject({ position: 2 });
    expect(new Set(leading(electors).map(({ token }) => token)).size).toBe(3);
    const leaders = await electors[4]?.leaders();
    for (const term of leading(electors)) {
      const elector = electors.find((each) => each.term === term);
      expect(leaders?.[term.seat]?.id).toBe(elector?.id);
    }
    expect(await electors[4]?.leader()).toEqual(leaders?.[0]);
    const observer = new ElectionObserver(await openSession(), path, { seat: 1 });
    await observer.start();
    expect(observer.leader?.id).toBe(leaders?.[1]?.id);
    await observer.stop();
    const candidates = await electors[0]?.candidates();
    expect(candidates?.map(({ id, position }) => [id, position])).toEqual([
      ['e0', 0],
      ['e1', 0],
      ['e2', 0],
      ['e3', 1],
      ['e4', 2],
    ]);
  });

  it('is refused by an observer that was given no seat, instead of being shown without a leader', async () => {
    const path = uniquePath('seats');
    const early = new ElectionObserver(await openSession(), path);
    const refused = nextEvent<[Error]>(early, 'error');
    await early.start();
    const { electors } = await joinAll(1, { seats: 2 }, path);
    expect(electors).toHaveLength(1);
    const mismatch = { code: 'SEATS_MISMATCH', path, agreed: 2 };
    expect((await refused)[0]).toMatchObject(mismatch);
    await early.stop();
    const late = new ElectionObserver(await openSession(), path);
    await expect(late.start()).rejects.toMatchObject(mismatch);
    await expect(revokeLeader(await openSession(), path)).rejects.toMatchObject(mismatch);
  });

  it.each([0, 1, 2])(
    'gives the seat of a leader that resigned, at place %i, to the next in line, at once',
    async (place) => {
      const { electors } = await joinAll(4, { seats: 3 });
      await until(() => leading(electors).length === 3);
      const elected = nextEvent<[Term]>(electors[3] as LeaderElector, 'elected');
      const former = electors[place]?.term as Term;
      await electors[place]?.stop();
      const [term] = await elected;
      expect([term.seat, term.number]).toEqual([former.seat, former.number + 1]);
      expect(term.token).toBeGreaterThan(former.token);
    },
  );

  it('waits out the lease of a leader that is gone, on its seat only', async () => {
    const proxy = await startProxy();
    const path = uniquePath('seats');
    const cut = await openSession({ sessionTimeoutMs: 1000, leaseMs: 900 }, proxy.connectString);
    const [dying, lost] = await lead(cut, path, { seats: 2 });
    const [, kept] = await lead(await openSession(), path, { seats: 2 });
    const next = new LeaderElector(await openSession(), path, { seats: 2 });
    await next.start();
    const elected = nextEvent<[Term]>(next, 'elected');
    const claiming = until(() => next.state.name === 'claiming').then(() => performance.now());
    const { node } = (await next.leaders())[lost.seat] as Candidate;
    proxy.partition();
    await next.session.remove(`${path}/${node}`);
    const demoted = nextEvent(dying, 'demoted').then(() => performance.now());
    const seenAt = await claiming;
    const [term] = await elected;
    expect(performance.now() - seenAt).toBeGreaterThan(900); // The elector saw that the node was gone, and then waited.
    expect(await demoted).toBeLessThan(performance.now());
    expect([term.seat, term.number]).toEqual([lost.seat, lost.number + 1]);
    expect(kept.isHeld()).toBe(true);
  });

  it('takes a seat that becomes free while it waits out the lease of another', async () => {
    const proxy = await startProxy();
    const path = uniquePath('seats');
    const cut = await openSession({ sessionTimeoutMs: 4000, leaseMs: 3900 }, proxy.connectString);
    const [, lost] = await lead(cut, path, { seats: 2 });
    const [second, kept] = await lead(await openSession(), path, { seats: 2 });
    const next = new LeaderElector(await openSession(), path, { seats: 2 });
    await next.start();
    const elected = nextEvent<[Term]>(next, 'elected');
    const { node } = (await next.leaders())[lost.seat] as Candidate;
    proxy.partition(); // Otherwise the lost leader would join the queue again, and take the free seat if it is quicker.
    await (await openSession()).remove(`${path}/${node}`);
    await until(() => next.state.name === 'claiming');
    const before = performance.now();
    await second.stop();
    expect((await elected)[0].seat).toBe(kept.seat);
    expect(performance.now() - before).toBeLessThan(3900); // It would have waited for a lease of this length.
  });

  it('never has two acting on one seat, while leaders come and go in every way', async () => {
    const seats = 3;
    const holders = new Map<number, string>();
    const terms: { seat: number; number: number; token: bigint }[] = [];
    const { electors } = await joinAll(6, {
      seats,
      lead: async (term) => {
        expect(holders.get(term.seat)).toBeUndefined();
        holders.set(term.seat, String(term.token));
        terms.push({ seat: term.seat, number: term.number, token: term.token });
        await new Promise((resolve) => setTimeout(resolve, 3));
        holders.delete(term.seat);
        await new Promise((resolve) => setTimeout(resolve, 5));
      },
    });
    const resigning = electors.map(async (elector) => {
      for (let round = 0; round < 8; round++) {
        await until(() => elector.term !== undefined);
        await elector.resign();
      }
    });
    await Promise.all(resigning);
    await Promise.all(electors.map((elector) => elector.stop()));
    expect(terms.length).toBeGreaterThanOrEqual(48);
    for (let seat = 0; seat < seats; seat++) {
      const own = terms.filter((term) => term.seat === seat);
      expect(own.map(({ number }) => number)).toEqual(own.map((_, index) => index + 1));
      expect(own.map(({ token }) => token)).toEqual(
        own.map(({ token }) => token).sort((a, b) => Number(a - b)),
      );
    }
  });

  it('claims one seat only when the reply to its claim is lost', async () => {
    const proxy = await startProxy();
    const path = uniquePath('seats');
    const session = await openSession({}, proxy.connectString);
    const lost = proxy.loseReplyTo('multi', { text: '"state":"held"' });
    const [elector, term] = await lead(session, path, { seats: 3 });
    await lost;
    expect(term.isHeld()).toBe(true);
    expect((await elector.leaders()).filter((leader) => leader !== undefined)).toHaveLength(1);
    await elector.stop();
    expect(await elector.leaders()).toEqual([undefined, undefined, undefined]);
  });

  it('lets the leader of one seat be asked to step down', async () => {
    const { electors, path } = await joinAll(3, { seats: 2 });
    await until(() => leading(electors).length === 2);
    const waiter = electors.find(({ term }) => term === undefined) as LeaderElector;
    const elected = nextEvent<[Term]>(waiter, 'elected');
    const asker = await openSession();
    await expect(revokeLeader(asker, path)).rejects.toMatchObject({ given: 1, agreed: 2 });
    const asked = await revokeLeader(asker, path, { seat: 1, graceMs: 1000 });
    expect((await elected)[0].seat).toBe(1);
    expect(electors.map(({ id }) => id)).toContain(asked?.id);
  });

  it('refuses candidates that were given another number, and names both', async () => {
    const { electors, path } = await joinAll(1, { seats: 3 });
    await until(() => leading(electors).length === 1);
    const many = new LeaderElector(await openSession(), path, { seats: 4 });
    await expect(many.start()).rejects.toMatchObject({ code: 'SEATS_MISMATCH', given: 4, agreed: 3 });
    expect(many.state.name).toBe('stopped');
    const one = new LeaderElector(await openSession(), path);
    await expect(one.start()).rejects.toMatchObject({ code: 'SEATS_MISMATCH', given: 1, agreed: 3 });
    expect(one.state.name).toBe('stopped');
    expect(electors[0]?.term?.isHeld()).toBe(true);
  });

  it('does not become of an election that has one', async () => {
    const path = uniquePath('seats');
    const [elector] = await lead(await openSession(), path);
    const many = new LeaderElector(await openSession(), path, { seats: 2 });
    await expect(many.start()).rejects.toBeInstanceOf(SeatsMismatchError);
    await expect(many.start()).rejects.toBeInstanceOf(InvalidStateError);
    expect(elector.term?.isHeld()).toBe(true);
    const again = new LeaderElector(await openSession(), path, { seats: 2 });
    await expect(again.start()).rejects.toMatchObject({ given: 2, agreed: 1 });
  });

  it('leaves the choice of the next leader to the queue', async () => {
    const { session, path } = await openWithPath('seats');
    expect(() => new LeaderElector(session, path, { seats: 2, priority: 1 })).toThrow(InvalidOptionError);
    const [elector] = await lead(session, path, { seats: 2 });
    await expect(elector.handOver('other')).rejects.toBeInstanceOf(InvalidStateError);
    expect(elector.term?.isHeld()).toBe(true);
  });

  it('works under a supervisor', async () => {
    const path = uniquePath('seats');
    const supervisors = [1, 2].map(
      () =>
        new ElectionSupervisor({
          connect: connectString(),
          path,
          seats: 2,
          session: { sessionTimeoutMs: 2000 },
        }),
    );
    const elected = supervisors.map((supervisor) => nextEvent<[Term]>(supervisor, 'elected'));
    await Promise.all(supervisors.map((supervisor) => supervisor.start()));
    expect((await Promise.all(elected)).map(([term]) => term.seat).sort()).toEqual([0, 1]);
    await Promise.all(supervisors.map((supervisor) => supervisor.stop()));
  });

  it.each([0, 1.5, '2', null, 10_001])('refuses %j for the number of seats', async (seats) => {
    const session = await openSession();
    expect(() => new LeaderElector(session, '/e', { seats: seats as number })).toThrow(InvalidOptionError);
  });
});

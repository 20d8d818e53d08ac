import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  ElectionSupervisor,
  type ElectionSupervisorOptions,
  InvalidOptionError,
  InvalidStateError,
  LeaderElector,
} from '../../src/index.js';
import { nextEvent, recordEvents } from '../../src/testing/index.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';

const PATH = '/elections/one';

async function world() {
  const { clock, server, open } = await startWithTestClock();
  const wait = <T>(awaited: Promise<T>) => clock.advanceUntil(awaited);
  const session = { sessionTimeoutMs: 6000, environment: clock.environment };
  const supervise = (id: string, options: Partial<ElectionSupervisorOptions> = {}) => {
    const supervisor = new ElectionSupervisor({
      connect: server.connectString,
      path: PATH,
      id,
      session,
      ...options,
    });
    onTestFinished(() => wait(supervisor.stop()));
    return supervisor;
  };
  const elected = (candidate: { once(event: 'elected', listener: () => void): unknown }) =>
    wait(new Promise<void>((resolve) => candidate.once('elected', resolve)));
  return { clock, server, open, supervise, wait, elected };
}

describe('of its election a supervisor', () => {
  it('lists the candidates, and names the leader', async () => {
    const { supervise, wait, elected } = await world();
    const [one, two] = [supervise('one', { data: 'first' }), supervise('two')];
    expect(one.isLeader).toBe(false);
    void one.start();
    await elected(one);
    await wait(two.start());
    expect([one.isLeader, two.isLeader]).toEqual([true, false]);
    const candidates = await wait(two.candidates());
    expect(candidates).toMatchObject([{ id: 'one', data: 'first', position: 0 }, { id: 'two' }]);
    expect(await wait(two.leader())).toMatchObject({ id: 'one' });
  });

  it('closes its session when another candidate takes over, calls the hook, and joins again with another', async () => {
    const { clock, server, supervise, wait, elected } = await world();
    const hook = { calls: 0 };
    const one = supervise('one', { cleanup: () => void hook.calls++ });
    const two = supervise('two');
    void one.start();
    await elected(one);
    await wait(two.start());
    const events = recordEvents(one, 'demoted', 'expired', 'cleaned', 'restarting', 'waiting');
    const [session, leader] = [await one.session(), await two.leader()];
    await clock.advance(2000); // The next in line reads the record first, and then the leader's heartbeats.
    const link = server.sessionOf(`${PATH}/${leader?.node}`);
    link?.partition();
    const cutOffAt = clock.now();
    await elected(two);
    // The leader's session of 6 s still lives. The takeover delay is 2.1 s, and at most a quarter of a lease more.
    expect(clock.now() - cutOffAt).toBeLessThan(2700);
    expect(events).toEqual(['demoted']);
    link?.heal();
    await wait(nextEvent(one, 'waiting'));
    expect(events).toEqual(['demoted', 'cleaned', 'restarting', 'waiting']);
    expect(await one.session()).not.toBe(session);
    expect(session.state.name).toBe('closed');
    expect(hook.calls).toBe(1);
  });

  it('goes by the lease for whether it leads', async () => {
    const { clock, supervise, elected } = await world();
    const one = supervise('one');
    void one.start();
    await elected(one);
    clock.jump(60_000);
    expect(one.isLeader).toBe(false);
  });

  it('waits with its answer for a session, and for the next one when that ends before', async () => {
    const { server, supervise, wait } = await world();
    const one = supervise('one', { cleanup: () => undefined });
    const asked = [one.candidates(), one.leader()] as const;
    await wait(one.start());
    // The supervisor asked as soon as there was a session, perhaps before it had its place in the queue.
    expect((await wait(Promise.all(asked))).length).toBe(2);
    const first = await one.session();
    server.partition();
    const question = one.candidates();
    for (const session of server.sessions()) session.expire();
    server.heal();
    expect(await wait(question)).toBeInstanceOf(Array);
    expect(await one.session()).not.toBe(first);
  });

  it('gives up its answer with the reason of a signal, and when it stops', async () => {
    const { supervise } = await world();
    const [one, two] = [supervise('one'), supervise('two')];
    const abort = new AbortController();
    const aborted = expect(one.candidates(abort.signal)).rejects.toBe('enough');
    abort.abort('enough');
    await aborted;
    const stopped = expect(two.leader()).rejects.toBeInstanceOf(InvalidStateError);
    await two.stop();
    await stopped;
  });

  it('shows the others what it advertises, also after the loss of a session, and what was advertised without one', async () => {
    const { server, supervise, wait } = await world();
    const one = supervise('one', { data: 'first', cleanup: () => undefined });
    const dataOf = async () => (await wait(one.candidates())).map(({ data }) => data);
    await one.advertise('second');
    await wait(one.start());
    expect(await dataOf()).toEqual(['second']);
    await wait(one.advertise('third'));
    expect(await dataOf()).toEqual(['third']);
    server.partition();
    for (const session of server.sessions()) session.expire();
    const advertised = one.advertise('fourth');
    server.heal();
    await wait(advertised);
    await wait(new Promise((resolve) => one.once('elected', resolve)));
    expect(await dataOf()).toEqual(['fourth']);
    await wait(one.stop());
    await expect(one.advertise('fifth')).rejects.toBeInstanceOf(InvalidStateError);
    await expect(one.advertise(5 as never)).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(one.advertise(undefined as never)).rejects.toBeInstanceOf(InvalidOptionError);
  });

  it('is live from the call of start on, and ready with its place', async () => {
    const { supervise, wait } = await world();
    const one = supervise('one');
    expect(one.health()).toMatchObject({ live: false, reasons: ['not started'] });
    void one.start();
    expect(one.health()).toMatchObject({ live: true, ready: false });
    const elected = new Promise((resolve) => one.once('elected', resolve));
    await wait(elected);
    expect(one.health()).toMatchObject({ live: true, ready: true, leading: true });
  });
});

it('the states of an elector are those of the page about states, in its order, right after start too', async () => {
  const { server, open, wait, elected, clock } = await world();
  const page = readFileSync(
    join(import.meta.dirname, '../../docs/reference/states-events-errors.md'),
    'utf8',
  );
  const [row = ''] = /^\| elector \|.*$/m.exec(page) ?? [];
  const diagram = [...(row.split(';')[0] as string).matchAll(/`(\w+)`/g)].map(([, name]) => name);
  const [lost, session] = [await open(), await open()];
  const first = new LeaderElector(lost, PATH);
  const [second, third] = [new LeaderElector(session, PATH), new LeaderElector(session, PATH)];
  await first.start();
  await elected(first);
  const seen: string[] = [second.state.name];
  const note = () => void (seen.at(-1) !== second.state.name && seen.push(second.state.name));
  const started = second.start();
  note();
  await started;
  note();
  await third.start();
  // After this end the next candidate waits before it claims.
  server.sessions()[0]?.expire();
  await clock.advanceUntil(() => {
    note();
    return second.state.name === 'leading';
  });
  const resigning = second.resign();
  for (note(); second.state.name !== 'waiting'; note()) await new Promise(setImmediate);
  await resigning;
  expect(seen).toEqual(diagram);
  await wait(Promise.all([second.stop(), third.stop()]));
  expect(second.state.name).toBe('stopped');
  await wait(first.stop());
});

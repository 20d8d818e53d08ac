import { describe, expect, it, onTestFinished } from 'vitest';
import type { LeaderElectorOptions } from '../../src/election/elector-options.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import type { Term } from '../../src/election/term/term.js';
import type { Session } from '../../src/session/session.js';
import { candidateNodes, lead } from '../support/conclave/electors.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { aborted, eventAfter } from '../support/events.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';
import { deferred, until } from '../support/waiting.mjs';

/** An elector that has a place in the queue, and is stopped at the end of the test. */
async function join<T>(
  path: string,
  options: LeaderElectorOptions<T>,
  session?: Session,
): Promise<LeaderElector<T>> {
  const elector = new LeaderElector(session ?? (await openSession()), path, options);
  onTestFinished(() => elector.stop());
  await elector.start();
  return elector;
}

/** A `prepare` that the test lets go, and the `lead` that gets what it returns. */
function preparing() {
  const began = deferred<AbortSignal>();
  const loaded = deferred<string>();
  const led = deferred<string>();
  const options: LeaderElectorOptions<string> = {
    prepare: ({ signal }) => {
      began.resolve(signal);
      return loaded.promise;
    },
    lead: async (term, warm) => {
      led.resolve(warm);
      await term.ended;
    },
  };
  return { began: began.promise, load: loaded.resolve, led: led.promise, options };
}

const preparedOf = async (elector: LeaderElector, id: string) =>
  (await elector.candidates()).find((each) => each.id === id)?.prepared;

describe('a candidate that prepares', () => {
  it('does so as the next in line, shows it, and leads with what it has prepared', async () => {
    const path = uniquePath('warm');
    const [leader] = await lead(await openSession(), path, { id: 'leader' });
    const { began, load, led, options } = preparing();
    await join(path, { ...options, id: 'next' });
    let calls = 0;
    const count = { prepare: () => void calls++, lead: (term: Term) => term.ended };
    await join(path, { ...count, id: 'third' });
    const signal = await began;
    expect(await preparedOf(leader, 'next')).toBe(false);
    expect(await preparedOf(leader, 'leader')).toBeUndefined();
    load('warm');
    await until(async () => (await preparedOf(leader, 'next')) === true);
    expect(calls).toBe(0);
    await leader.stop();
    expect(await led).toBe('warm');
    expect(signal.aborted).toBe(false);
    await until(() => calls === 1, 'the call of the one that is next in line now');
  });

  it('does so at any position if it has a priority, and when it is elected at once', async () => {
    const path = uniquePath('warm');
    const [leader] = await lead(await openSession(), path, { id: 'leader' });
    await join(path, { id: 'plain' });
    const high = preparing();
    const elector = await join(path, { ...high.options, id: 'high', priority: 7 });
    await high.began;
    expect(elector.state).toMatchObject({ name: 'waiting', position: 2 });
    high.load('warm');
    await leader.stop();
    expect(await high.led).toBe('warm');
    const alone = preparing();
    const [, term] = await lead(await openSession(), uniquePath('warm'), alone.options);
    await alone.began;
    alone.load('in the term');
    expect(await alone.led).toBe('in the term');
    expect(term.isHeld()).toBe(true);
  });

  it('is told when it loses its place, and prepares anew in the next', async () => {
    const path = uniquePath('warm');
    const [leader] = await lead(await openSession(), path, { id: 'leader' });
    const calls: AbortSignal[] = [];
    const prepare = ({ signal }: { readonly signal: AbortSignal }) => void calls.push(signal);
    const next = await join(path, { id: 'next', prepare, lead: (term) => term.ended });
    await until(async () => (await preparedOf(leader, 'next')) === true);
    const [, node] = await candidateNodes(leader.session, path);
    await eventAfter(next, 'waiting', () => leader.session.remove(`${path}/${node}`));
    await aborted(calls[0] as AbortSignal);
    await until(async () => (await preparedOf(leader, 'next')) === true, 'prepared again');
    expect(calls.map((signal) => signal.aborted)).toEqual([true, false]);
  });

  it('keeps what it has opened until the work of its term has settled', async () => {
    const steps: string[] = [];
    const path = uniquePath('warm');
    const elector = await join(path, {
      prepare: ({ signal }) => void signal.addEventListener('abort', () => steps.push('closed')),
      lead: async (term) => {
        await term.ended;
        await elector.session.exists('/'); // The work takes some more time.
        steps.push('settled');
      },
    });
    await until(() => elector.isLeader);
    await elector.session.exists('/');
    await elector.stop();
    expect(steps).toEqual(['settled', 'closed']);
  });
});

/** Two candidates on a server that counts, for a second without heartbeats: what is asked until the second one leads. */
async function askedFor(options: LeaderElectorOptions<undefined>) {
  const { clock, server, open } = await startWithTestClock();
  const path = '/election';
  const [leader] = await clock.advanceUntil(
    lead(await open({ sessionTimeoutMs: 60_000 }), path, { id: 'leader' }),
  );
  const session = await open({ sessionTimeoutMs: 60_000 });
  server.resetCounts();
  const next = await clock.advanceUntil(join(path, { id: 'next', ...options }, session));
  await clock.advance(1000); // All that follows from the place in the queue.
  const asked = server.requests
    .filter((each) => each.session?.id === session.credentials.id)
    .map(({ operation }) => operation);
  const [, node] = await candidateNodes(session, path);
  const { data } = await session.getData(`${path}/${node}`);
  await eventAfter(next, 'elected', () => leader.stop());
  return { asked, data: String(data) };
}

it('a candidate without the option asks and writes what it did before, and one with it reads and writes its node once', async () => {
  const without = await askedFor({});
  expect(without.data).toBe('{"id":"next"}');
  const { asked, data } = await askedFor({ prepare: () => undefined, lead: (term) => term.ended });
  expect(data).toBe('{"id":"next","prepared":true}');
  const more = [...asked];
  for (const each of without.asked) more.splice(more.indexOf(each), 1);
  // It reads its node in order to write it. The write notifies it, and it reads what it would of a change by another client.
  expect(more.sort()).toEqual(['getData', 'getData', 'getData', 'setData']);
});

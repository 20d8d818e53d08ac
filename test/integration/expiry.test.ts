import { describe, expect, it } from 'vitest';
import type { LeaderElector } from '../../src/election/leader-elector.js';
import type { Term } from '../../src/election/term/term.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { TestClock } from '../../src/testing/controls/test-clock.js';
import { candidateNodes, lead } from '../support/conclave/electors.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { aborted } from '../support/events.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { until } from '../support/waiting.mjs';

/** Records how a term ends: the reason of its signal, then the events in their order. */
function recordEnd(elector: LeaderElector, { signal }: Term): unknown[] {
  const seen: unknown[] = [];
  signal.addEventListener('abort', () => seen.push('signal'));
  elector.on('demoted', (_, reason) => seen.push(`demoted: ${reason}`));
  elector.on('expired', () => seen.push('expired'));
  return seen;
}

describe('a session that expires while it is connected', () => {
  // A server that ends a session fires the watches on its nodes before it closes the session's own connection. Whether the session
  // hears of its own node first is a race that may go either way.
  it('is reported as such, also if its own watch on its node fires first', async () => {
    const observer = await openSession();
    // Under two names, so that the second try comes without a pause. A pause would need a clock that moves.
    const twice = `${connectString()},${connectString().replaceAll('127.0.0.1', 'localhost')}`;
    const ends = Array.from({ length: 8 }, async () => {
      const path = uniquePath('expiry');
      // While this clock stands still the session sends nothing, and the servers' clocks go on.
      const { environment } = new TestClock();
      const session = await openSession({ sessionTimeoutMs: 1000, environment }, twice);
      const [elector, term] = await lead(session, path);
      const seen = recordEnd(elector, term);
      await until(() => seen.includes('expired'));
      expect(await observer.getChildren(path)).toEqual([]);
      return seen;
    });
    for (const end of ends) expect(await end).toEqual(['signal', 'demoted: session-expired', 'expired']);
  });

  it('ends a term at once when its node is gone, and says why when that is known', async () => {
    const server = await startEmbedded();
    const session = await openSession({}, server.connectString);
    const [elector, term] = await lead(session, '/election');
    const seen = recordEnd(elector, term);
    const [node] = await candidateNodes(session, '/election');
    const path = `/election/${node}`;
    // The server doesn't answer the request that shows whether the session lives, and then ends the session. A real server does both
    // at once.
    server.swallowReply('exists', { path: '/election' });
    session.once('suspended', () => {
      expect(seen).toEqual(['signal']);
      server.expireSession(() => true);
    });
    const observer = await openSession({}, server.connectString);
    await observer.remove(path);
    expect(await aborted(term.signal)).toMatchObject({ code: 'TERM_ENDED' });
    expect(term.isHeld()).toBe(false);
    await until(() => seen.includes('expired'));
    expect(seen).toEqual(['signal', 'demoted: session-expired', 'expired']);
    expect(elector.state.name).toBe('expired');
  });

  it('does not keep a demoted leader waiting for servers that say nothing more: after a lease the term ends by what is known', async () => {
    const server = await startEmbedded();
    const session = await openSession({ sessionTimeoutMs: 6000, leaseMs: 300 }, server.connectString);
    const [elector, term] = await lead(session, '/election');
    const seen = recordEnd(elector, term);
    const [node] = await candidateNodes(session, '/election');
    server.delay(1000, { only: 'exists' });
    const observer = await openSession({}, server.connectString);
    await observer.remove(`/election/${node}`);
    await until(() => seen.length === 2, 'both');
    expect(seen).toEqual(['signal', 'demoted: node-deleted']);
    await elector.stop();
  });
});

it('a term and a hold end at once with the reason session-expired when the server ends their session', async () => {
  const server = await startEmbedded();
  const session = await openSession({}, server.connectString);
  const [, term] = await lead(session, '/election');
  const hold = await new DistributedLock(session, '/lock').acquire();
  server.expireSession(() => true);
  for (const { signal } of [term, hold])
    expect(await aborted(signal)).toMatchObject({ reason: 'session-expired' });
});

import { expect, it } from 'vitest';
import { parseRecord } from '../../src/election/record/record.js';
import type { Term } from '../../src/election/term/term.js';
import type { DemotionReason } from '../../src/errors.js';
import type { Session } from '../../src/session/session.js';
import { campaign, lead } from '../support/conclave/electors.js';
import { openProxied, openSession, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { until } from '../support/waiting.mjs';

/** The session outlasts each test by far, so its end can't cause anything that happens within a test. */
const SESSION = { sessionTimeoutMs: 20_000, leaseMs: 600 };

async function recordOf(session: Session, path: string) {
  const { data, stat } = await session.getData(path);
  return parseRecord(data, stat.version);
}

/** Starts a leader whose link a test can cut, and records its demotion. */
async function leadBehindProxy(path: string, options = {}) {
  const { proxy, session } = await openProxied(SESSION);
  const [elector, term] = await lead(session, path, options);
  const demoted = nextEvent<[Term, DemotionReason]>(elector, 'demoted');
  return { proxy, session, elector, term, demoted };
}

it('a leader that is cut off is replaced when its lease is over, long before its session ends', async () => {
  const path = uniquePath('takeover');
  const leader = await leadBehindProxy(path);
  const next = await campaign(await openSession(SESSION), path);
  const elected = nextEvent<[Term]>(next, 'elected');
  const seen: boolean[] = [];
  next.once('elected', () => void seen.push(leader.term.isHeld()));
  await new Promise((resolve) => setTimeout(resolve, 500));
  const silentAt = performance.now();
  leader.proxy.partition();
  const [term] = await elected;
  console.log('took', performance.now() - silentAt);
  expect(term.number).toBe(2);
  expect(term.token).toBeGreaterThan(leader.term.token);
  expect(seen).toEqual([false]);
  expect((await leader.demoted)[1]).toBe('lease-expired');
  leader.proxy.restore();
  // The former leader's session lives, so it joins again, behind the new leader.
  await until(() => leader.elector.state.name === 'waiting');
  await Promise.all([leader.elector.stop(), next.stop()]);
  expect(await recordOf(await openSession(), path)).toMatchObject({ state: 'vacant' });
});

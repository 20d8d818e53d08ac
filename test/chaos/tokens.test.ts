import { expect, it, onTestFinished } from 'vitest';
import type { Session } from '../../src/session/session.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { lead } from '../support/conclave/electors.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';

/** Leads once, and gives the term back. */
async function oneTerm(session: Session, path: string): Promise<{ number: number; token: bigint }> {
  const [elector, term] = await lead(session, path);
  await elector.stop();
  return { number: term.number, token: term.token };
}

it('tokens rise over ordinary terms, a restart of the whole ensemble, and an election that is deleted and made again', async () => {
  const ensemble = await startZooKeeper({ servers: 3 });
  onTestFinished(ensemble.stop);
  const session = await openSession(
    { sessionTimeoutMs: 60_000, connectTimeoutMs: 30_000 },
    ensemble.connectString,
  );
  const path = uniquePath('tokens');
  const terms = [await oneTerm(session, path), await oneTerm(session, path)];

  await Promise.all(ensemble.servers.map((server) => server.kill('SIGKILL')));
  await Promise.all(ensemble.servers.map((server) => server.start()));
  await session.retryUntilAnswered(() => session.exists(path));
  terms.push(await oneTerm(session, path));

  await session.retryUntilAnswered(() => session.remove(path));
  terms.push(await oneTerm(session, path), await oneTerm(session, path));

  // The numbers of the terms begin anew with the election: that is why they aren't the tokens.
  expect(terms.map(({ number }) => number)).toEqual([1, 2, 3, 1, 2]);
  const tokens = terms.map(({ token }) => token);
  expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)));
  expect(new Set(tokens).size).toBe(5);
});

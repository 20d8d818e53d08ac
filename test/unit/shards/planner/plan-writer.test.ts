import { describe, expect, it, onTestFinished } from 'vitest';
import type { Term } from '../../../../src/election/term/term.js';
import { TermEndedError, ZooKeeperError } from '../../../../src/errors.js';
import type { TransactionPart } from '../../../../src/session/protocol/multi-and-stats.js';
import { Session } from '../../../../src/session/session.js';
import { writePlans } from '../../../../src/shards/planner/plan-writer.js';
import { TIMES } from '../../../support/conclave/group-members.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../../../support/silent-logger.mjs';

/** Plans of so many members in a session with a chroot, and a term whose transactions the server carries out or refuses. */
async function setUp(members: number) {
  const { clock, server } = await startWithTestClock();
  const options = { ...TIMES, environment: clock.environment, logger: SILENT };
  const session = await clock.advanceUntil(Session.connect(`${server.connectString}/app`, options));
  onTestFinished(() => clock.advanceUntil(session.close()));
  const paths = Array.from({ length: members }, (_, at) => `/plans/${at}`);
  await clock.advanceUntil(session.ensurePath('/plans'));
  for (const path of paths) await clock.advanceUntil(session.create(path));
  const transaction = () => {
    const parts: TransactionPart[] = [];
    return {
      setData: (path: string, data: Buffer) => void parts.push({ kind: 'set', path, data }),
      commit: () => session.commit(parts),
    };
  };
  const write = (bytes = 10) => {
    const changes = paths.map((path, at) => ({ path, data: Buffer.alloc(bytes, String(at)) }));
    return clock.advanceUntil(writePlans(session, { transaction } as unknown as Term, changes));
  };
  /** The places of the members whose plans were written. */
  const written = () =>
    paths.flatMap((path, at) => ((server.data(`/app${path}`)?.length ?? 0) > 0 ? [at] : []));
  return { clock, server, session, write, written };
}

describe('the plans of many members', () => {
  it('are all written where all members are there, also in several transactions', async () => {
    const { write, written } = await setUp(3);
    expect(await write(150_000)).toBe(true);
    expect(written()).toEqual([0, 1, 2]);
  });

  it('are written but for those of members that have left, which refuse no others', async () => {
    const { clock, session, write, written } = await setUp(6);
    for (const left of ['/plans/1', '/plans/4']) await clock.advanceUntil(session.remove(left));
    expect(await write()).toBe(false);
    expect(written()).toEqual([0, 2, 3, 5]);
  });

  it('are none where all members of a transaction have left', async () => {
    const { clock, session, write, written } = await setUp(1);
    await clock.advanceUntil(session.remove('/plans/0'));
    expect(await write()).toBe(false);
    expect(written()).toEqual([]);
  });

  it('are not written when the term has ended, or a server refuses: that is thrown', async () => {
    const { clock, server, session, write } = await setUp(2);
    server.failWith('NO_AUTH', { operation: 'multi' });
    await expect(write()).rejects.toThrow(ZooKeeperError);
    const ended = new TermEndedError(1, 'resigned');
    const term = { transaction: () => ({ commit: () => Promise.reject(ended), setData: () => undefined }) };
    const change = { path: '/plans/0', data: Buffer.from('x') };
    const writing = writePlans(session, term as unknown as Term, [change]);
    await expect(clock.advanceUntil(writing)).rejects.toBe(ended);
  });
});

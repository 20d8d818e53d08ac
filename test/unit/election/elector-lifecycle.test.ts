import { describe, expect, it, onTestFinished } from 'vitest';
import { LeaderElector } from '../../../src/election/elector.js';
import type { LeaderElectorOptions } from '../../../src/election/elector-options.js';
import type { DemotionReason } from '../../../src/errors.js';
import type { AccessEntry } from '../../../src/session/protocol/acl.js';
import type { Session } from '../../../src/session/session.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';

const PATH = '/elections/scheduler';
const ALL_BUT_READ: AccessEntry = { scheme: 'world', id: 'anyone', permissions: 2 | 4 | 8 | 16 };

async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const electing = (session: Session, options: LeaderElectorOptions = {}) => {
    const elector = new LeaderElector(session, PATH, options);
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    const errors: Error[] = [];
    elector.on('error', (error) => void errors.push(error));
    return { elector, errors };
  };
  const first = await clock.advanceUntil(open()); // Creates the election with the usual access.
  await clock.advanceUntil(first.create('/elections'));
  await clock.advanceUntil(first.create(PATH));
  return { clock, server, open, first, electing };
}

describe('an elector that may not read its own node', () => {
  it('is refused at the start, once, when another candidate leads', async () => {
    const { clock, server, open, first, electing } = await setUp();
    const leader = electing(first);
    await clock.advanceUntil(leader.elector.start());
    const { elector, errors } = electing(await clock.advanceUntil(open({ access: [ALL_BUT_READ] })));
    server.resetCounts();
    const starting = elector.start();
    starting.catch(() => undefined); // Handled below.
    await clock.advance(5000);
    await expect(starting).rejects.toMatchObject({
      code: 'UNREADABLE_NODE',
      path: expect.stringContaining(`${PATH}/`),
    });
    expect([elector.state.name, errors]).toEqual(['stopped', []]);
    expect(server.count('create')).toBeLessThanOrEqual(2);
    expect(await clock.advanceUntil(leader.elector.candidates())).toHaveLength(1);
  });

  it('leads more and more rarely when it is alone', async () => {
    const { clock, open, electing } = await setUp();
    const session = await clock.advanceUntil(open({ access: [ALL_BUT_READ] }));
    const said: Error[] = [];
    session.on('error', (error) => void said.push(error));
    const { elector } = electing(session);
    const ends: DemotionReason[] = [];
    elector.on('demoted', (_term, reason) => void ends.push(reason));
    await clock.advanceUntil(elector.start());
    await clock.advance(60_000);
    expect(ends.length).toBeGreaterThan(5);
    expect(ends.length).toBeLessThan(30);
    expect(new Set(ends)).toEqual(new Set(['node-deleted']));
    expect(said[0]?.message).toContain('access list');
  });
});

describe('an elector whose node is deleted as soon as it has one', () => {
  it('joins more and more rarely', async () => {
    const { clock, open, first, electing } = await setUp();
    const leader = electing(first);
    await clock.advanceUntil(leader.elector.start());
    const { elector } = electing(await clock.advanceUntil(open()));
    let joins = 0;
    elector.on('waiting', async () => {
      joins++;
      const [, own] = await first
        .getChildren(PATH)
        .then((nodes) => nodes.filter((node) => node.includes('-lock-')).sort(bySequence));
      if (own !== undefined) await first.remove(`${PATH}/${own}`);
    });
    await clock.advanceUntil(elector.start());
    await clock.advance(60_000);
    expect(joins).toBeGreaterThan(5);
    expect(joins).toBeLessThan(40);
  });
});

function bySequence(a: string, b: string): number {
  return Number(a.slice(-10)) - Number(b.slice(-10));
}

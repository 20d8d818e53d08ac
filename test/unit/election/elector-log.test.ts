import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../../src/cluster/supervisor/supervisor.js';
import { LeaderElector } from '../../../src/election/elector.js';
import { A_WHILE_MS, TIMES } from '../../support/conclave/group-members.js';
import { nextEvent } from '../../support/events.js';
import { sessionAt, startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';

const PATH = '/app/election';

type Line = Record<string, unknown> & { readonly message: string };

/** Starts candidates on a clock that only the test moves, and records what each of them logs at `info`. */
async function startElection() {
  const { clock, server, open } = await startWithTestClock();
  const logger = () => {
    const lines: Line[] = [];
    const ignore = () => undefined;
    const info = (details: object, message: string) => void lines.push({ ...details, message });
    return { lines, logger: { debug: ignore, info, warn: ignore, error: ignore } };
  };
  const join = async (id: string) => {
    const session = await open(TIMES);
    const { lines, logger: given } = logger();
    const elector = new LeaderElector(session, PATH, { id, logger: given });
    onTestFinished(() => clock.advanceUntil(elector.stop()));
    await clock.advanceUntil(elector.start());
    const atServer = sessionAt(server, session);
    return { elector, lines, session, atServer };
  };
  return { clock, server, join, logger };
}

const messages = (lines: readonly Line[]) => lines.map(({ message }) => message);

describe('what is logged of an elector', () => {
  it('is a line for each transition, with who and where, the term and its token, and none for a heartbeat', async () => {
    const { clock, join } = await startElection();
    const first = await join('a');
    const second = await join('b');
    await clock.advance(A_WHILE_MS);
    const token = String(first.elector.term?.token);
    const elected = nextEvent(second.elector, 'elected');
    await clock.advanceUntil(first.elector.resign());
    await elected;
    await clock.advance(60_000);
    await clock.advanceUntil(first.elector.stop());
    expect(messages(first.lines)).toEqual(['elected', 'demoted', 'released', 'waiting', 'left the election']);
    for (const line of first.lines) expect(line).toMatchObject({ election: PATH, id: 'a' });
    const [led, demoted, released, waiting] = first.lines;
    expect(led).toMatchObject({ term: 1, token, reason: 'vacant', waitedMs: 0 });
    expect(demoted).toMatchObject({ term: 1, token, reason: 'resigned', lastedMs: A_WHILE_MS });
    expect(released).toMatchObject({ term: 1, token, successor: expect.stringContaining('_c_') });
    expect(waiting).toMatchObject({ position: 1, ahead: released?.successor });
    expect(messages(second.lines)).toEqual(['waiting', 'elected']);
    expect(second.lines[1]).toMatchObject({
      term: 2,
      reason: 'handover',
      waitedMs: A_WHILE_MS,
      handoverMs: 0,
    });
  });

  it('says how long a leader was silent, and how long the failover took', async () => {
    const { clock, join } = await startElection();
    const first = await join('a');
    const second = await join('b');
    await clock.advance(A_WHILE_MS);
    const elected = nextEvent(second.elector, 'elected');
    first.atServer.partition();
    await clock.advanceUntil(elected);
    expect(messages(second.lines)).toEqual([
      'waiting',
      'no heartbeat from the leader for longer than its lease: taking over',
      'elected',
    ]);
    const [, takeover, led] = second.lines;
    expect(takeover).toMatchObject({ election: PATH, id: 'b', term: 1, formerLeader: 'a' });
    expect(led).toMatchObject({ term: 2, reason: 'failover', failoverMs: takeover?.silentMs });
    expect(led?.failoverMs).toBeGreaterThan(TIMES.leaseMs);
    first.atServer.heal();
  });
});

it('what is logged of a supervisor is a line for each transition of its sessions, its elector and itself', async () => {
  const { clock, server, logger } = await startElection();
  const { lines, logger: given } = logger();
  const supervisor = new ElectionSupervisor({
    ...{ connect: server.connectString, path: PATH, id: 'a', logger: given },
    session: { ...TIMES, environment: clock.environment },
    cleanup: () => undefined,
  });
  await clock.advanceUntil(supervisor.start());
  const again = nextEvent(supervisor, 'elected');
  server.expireSession(() => true);
  await clock.advanceUntil(again);
  await clock.advanceUntil(supervisor.stop());
  expect(messages(lines)).toEqual([
    ...['session opened', 'elected', 'demoted', 'ended with its session', 'cleaned', 'restarting'],
    ...['session opened', 'the former leader ended uncleanly: waiting for its lease to end'],
    ...['elected', 'demoted', 'released', 'left the election', 'stopped'],
  ]);
  for (const line of lines) expect(line).toMatchObject({ election: PATH, id: 'a' });
  expect(lines[4]).toMatchObject({ reason: 'session-expired', attempts: 1, tookMs: 0 });
  expect(lines[5]).toMatchObject({ attempt: 1, delayMs: 0 });
});

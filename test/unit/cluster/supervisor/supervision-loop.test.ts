import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../../../src/cluster/supervisor/election-supervisor.js';
import type { ElectionSupervisorOptions } from '../../../../src/cluster/supervisor/election-supervisor-options.js';
import { ShardSupervisor } from '../../../../src/shards/supervisor/shard-supervisor.js';
import { nextEvent } from '../../../../src/testing/index.js';
import { startWithTestClock } from '../../../support/servers/embedded-with-test-clock.js';

const PATH = '/elections/scheduler';
const AUTH = { scheme: 'digest', credentials: 'service:secret' } as const;

async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const { environment } = clock;
  const options = { connect: server.connectString, path: PATH, session: { environment } };
  const supervise = (given: Partial<ElectionSupervisorOptions> = {}) => {
    const supervisor = new ElectionSupervisor({ ...options, ...given });
    onTestFinished(() => clock.advanceUntil(supervisor.stop()));
    const errors: Error[] = [];
    supervisor.on('error', (error) => void errors.push(error));
    return { supervisor, errors };
  };
  /** The error with which `start()` rejects. It fails the test if that takes more than 5 s. */
  const refusal = async (supervisor: ElectionSupervisor | ShardSupervisor): Promise<unknown> => {
    const refused = supervisor.start().then(
      () => 'started',
      (error: unknown) => error,
    );
    return await clock.advanceUntil(Promise.race([refused, late(5000)]));
  };
  const late = (ms: number) =>
    new Promise<string>((resolve) => void clock.after(ms, () => resolve('pending')));
  /** The server refuses to make nodes, until the result is called. */
  const refuseWrites = (code: Parameters<typeof server.failWith>[0]) => {
    const faults = (['create', 'multi'] as const).map((operation) => server.failWith(code, { operation }));
    return () => {
      for (const fault of faults) fault.clear();
    };
  };
  return { clock, server, open, options, supervise, refusal, refuseWrites };
}

describe('the start of a supervisor', () => {
  it('is refused when any client could end the terms of the election', async () => {
    const { clock, open, options, supervise, refusal } = await setUp();
    const stranger = await clock.advanceUntil(open());
    await clock.advanceUntil(stranger.create('/elections'));
    await clock.advanceUntil(stranger.create(PATH));
    const session = { ...options.session, auth: AUTH };
    const { supervisor, errors } = supervise({ session });
    const refused = await refusal(supervisor);
    expect(refused).toMatchObject({ code: 'UNPROTECTED_PATH' });
    expect(errors).toEqual([refused]);
    const group = new ShardSupervisor({ ...options, session, shards: 2 });
    onTestFinished(() => clock.advanceUntil(group.stop()));
    group.on('error', () => undefined); // `start()` rejects with it.
    expect(await refusal(group)).toMatchObject({ code: 'UNPROTECTED_PATH' });
  });

  it('is refused when the access list of the election refuses', async () => {
    const { supervise, refusal, refuseWrites } = await setUp();
    refuseWrites('NO_AUTH');
    const { supervisor, errors } = supervise();
    const refused = await refusal(supervisor);
    expect(refused).toMatchObject({ code: 'NO_AUTH' });
    expect(errors).toEqual([refused]);
  });

  it('goes on when the servers refuse for another reason, says so once for each try, and says why it waits', async () => {
    const { clock, supervise, refuseWrites } = await setUp();
    const accept = refuseWrites('QUOTA_EXCEEDED');
    const { supervisor, errors } = supervise({ retry: { minTimeout: 2000, maxTimeout: 8000 } });
    let tries = 0;
    supervisor.on('restarting', () => void tries++);
    const starting = supervisor.start();
    await clock.advance(5000); // The first pause takes 2 to 4 s, the second one 4 to 8 s.
    expect(tries).toBe(2);
    expect(errors).toHaveLength(2);
    const { live, ready, reasons } = supervisor.health();
    expect([live, ready]).toEqual([true, false]);
    expect(reasons).toEqual([expect.stringMatching(/QUOTA_EXCEEDED.*; tries again in [\d]+ ms$/)]);
    accept();
    await clock.advanceUntil(starting);
  });
});

it('a supervisor that has started goes on when the access list refuses later', async () => {
  const { clock, server, supervise, refuseWrites } = await setUp();
  const { supervisor, errors } = supervise();
  const elected = nextEvent(supervisor, 'elected');
  await clock.advanceUntil(supervisor.start());
  await clock.advanceUntil(elected);
  const accept = refuseWrites('NO_AUTH');
  server.expireSession(() => true);
  await clock.advance(10_000);
  expect(errors.length).toBeGreaterThan(1);
  expect(supervisor.health().live).toBe(true);
  const again = nextEvent(supervisor, 'elected');
  accept();
  await clock.advanceUntil(again);
});

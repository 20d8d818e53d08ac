import { describe, expect, it } from 'vitest';
import type { DashboardState } from '../../src/dashboard/api-types.js';
import { dashboard } from '../../src/dashboard/dashboard.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import { conclave } from '../support/conclave/command-line.js';
import { lead } from '../support/conclave/electors.js';
import { overviewOf } from '../support/conclave/overviews.js';
import { connectString, openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { SILENT } from '../support/silent-logger.mjs';
import { endsWithTest, onTestFinished } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';
import { create } from '../support/wire/operations.js';
import { RawClient } from '../support/wire/raw-client.js';

const LONG = 'x'.repeat(100_000);

/** As a client does that doesn't check the length. */
async function createLong(parent: string) {
  const client = endsWithTest(await RawClient.connect(Number(connectString().split(':')[1])));
  await client.do(create(`${parent}/${LONG}`));
}

describe('a node whose path is longer than an option may be', () => {
  it('froze status, prune, the overview and the dashboard', async () => {
    const { session, path: root } = await openWithPath('long');
    await lead(session, `${root}/led`);
    await createLong(root);
    expect((await conclave('status', '--root', root)).stdout.join('\n')).toContain(`${root}/led`);
    expect(await conclave('prune', root)).toMatchObject({
      exitCode: 0,
      stderr: 'conclave: there is nothing to remove; 1 election in use',
    });
    expect(await conclave('prune', root, '--locks')).toMatchObject({ exitCode: 0 });
    const { election, errors } = await overviewOf(session, { root });
    expect(election(`${root}/led`)).toMatchObject({ state: 'led' });
    expect(errors).toEqual([]);
    const handler = endsWithTest(dashboard({ connect: connectString(), root, logger: SILENT }));
    const answer = await handler(new Request('http://localhost/api/state'));
    const state = (await answer.json()) as DashboardState;
    expect(state.elections).toMatchObject([{ path: `${root}/led`, state: 'led' }]);
  });

  it('ended the planning of a group of shards', async () => {
    const group = uniquePath('long');
    const start = async (id: string) => {
      const member = new ShardSupervisor({
        ...{ connect: connectString(), path: group, shards: 4, id, logger: SILENT },
        run: ({ signal }) =>
          new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
      });
      onTestFinished(() => member.stop());
      await member.start();
      return member;
    };
    const [one, other] = [await start('one'), await start('other')];
    await until(() => one.owned.size === 2 && other.owned.size === 2);
    await createLong(`${group}/homes`);
    await createLong(`${group}/reports`);
    await other.stop();
    await until(() => one.owned.size === 4);
  });

  it('kept an election with a long path from having candidates, whose paths are longer', async () => {
    const path = `${uniquePath('long')}/${'x'.repeat(4040)}`;
    const elector = new LeaderElector(await openSession(), path, { lead: (term) => term.ended });
    onTestFinished(() => elector.stop());
    await elector.start();
    await until(() => elector.isLeader);
  });
});

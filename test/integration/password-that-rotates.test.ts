/** A password of SASL that changes on clients and on real servers, which read it when they start. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { AuthenticationError, NoServerError } from '../../src/errors.js';
import { Session } from '../../src/session/session.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { leadThroughRestarts } from '../support/conclave/rolling-restart.js';
import { openSession } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { jaasFor, SASL_PROVIDER } from '../support/servers/jaas.js';
import { SILENT } from '../support/silent-logger.mjs';
import { temporaryFolder } from '../support/temporary-folder.js';

const folder = temporaryFolder(afterAll);
let ensemble: Awaited<ReturnType<typeof startZooKeeper>>;
let password = 'password-0';

const jaas = () => join(folder, 'jaas.conf');
const setOnServers = (next: string) => writeFile(jaas(), jaasFor({ worker: next }));
const userWith = (given: string) => ({ username: 'worker', password: given });

beforeAll(async () => {
  await setOnServers(password);
  ensemble = await startZooKeeper({
    servers: 3,
    settings: { ...SASL_PROVIDER, 'enforce.auth.enabled': 'true', 'enforce.auth.schemes': 'sasl' },
    javaOptions: [`-Djava.security.auth.login.config=${jaas()}`], // Each server reads it when it starts.
  });
});

afterAll(async () => {
  await ensemble?.stop();
});

/** Waits until a supervisor reports that no server takes its session, because they refuse it. It goes on trying. */
async function refusalOf(supervisor: ElectionSupervisor): Promise<void> {
  for (;;) {
    const [error] = await nextEvent<[Error]>(supervisor, 'error');
    if (error instanceof NoServerError && error.cause instanceof AuthenticationError) return;
  }
}

describe('a supervisor leads while the servers are restarted one by one with another password of it, which it gets', () => {
  it.each([
    ['before the first of them', 0],
    ['after the first of them', 1],
    ['after the last of them, when all have refused it', 3],
  ])('%s', async (_, whenRestarted) => {
    const [former, next] = [password, `${password}-next`];
    const change = (restarted: number) => {
      if (restarted === whenRestarted) password = next;
    };
    await leadThroughRestarts(ensemble.servers, {
      connect: ensemble.connectString,
      session: { sasl: async () => userWith(password) },
      beforeStart: async (restarted) => {
        change(restarted);
        await setOnServers(next);
      },
      afterStart: async (restarted, supervisor) => {
        if (restarted === 3 && whenRestarted === 3) await refusalOf(supervisor);
        change(restarted);
      },
    });
    const opening = Session.connect(ensemble.connectString, { sasl: userWith(former), logger: SILENT });
    await expect(opening).rejects.toBeInstanceOf(AuthenticationError);
    await openSession({ sasl: userWith(next), logger: SILENT }, ensemble.connectString);
  });
});

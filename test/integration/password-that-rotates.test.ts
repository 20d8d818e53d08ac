/** A password of SASL that changes on clients and on real servers, which read it when they start. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthenticationError } from '../../src/errors.js';
import { Session } from '../../src/session/session.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { leadThroughRestarts } from '../support/conclave/rolling-restart.js';
import { openSession } from '../support/conclave/sessions.js';
import { jaasFor, SASL_PROVIDER } from '../support/servers/jaas.js';
import { SILENT } from '../support/silent-logger.mjs';

let folder: string;
let ensemble: Awaited<ReturnType<typeof startZooKeeper>>;
let password = 'password-0';

const jaas = () => join(folder, 'jaas.conf');
const setOnServers = (next: string) => writeFile(jaas(), jaasFor({ worker: next }));
const userWith = (given: string) => ({ username: 'worker', password: given });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'conclave-jaas-'));
  await setOnServers(password);
  ensemble = await startZooKeeper({
    servers: 3,
    settings: { ...SASL_PROVIDER, 'enforce.auth.enabled': 'true', 'enforce.auth.schemes': 'sasl' },
    javaOptions: [`-Djava.security.auth.login.config=${jaas()}`], // Each server reads it when it starts.
  });
});

afterAll(async () => {
  await ensemble?.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('a supervisor leads while the servers are restarted one by one with another password of it, which it gets', () => {
  it.each([
    ['before the first of them', 0],
    ['after the first of them', 1],
    ['after the last of them', 3],
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
      afterStart: async (restarted) => change(restarted),
    });
    const opening = Session.connect(ensemble.connectString, { sasl: userWith(former), logger: SILENT });
    await expect(opening).rejects.toBeInstanceOf(AuthenticationError);
    await openSession({ sasl: userWith(next), logger: SILENT }, ensemble.connectString);
  });
});

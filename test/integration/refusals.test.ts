/** What refused sessions and commands cost the servers, and show of the credentials: seen in the log of a real server. */
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished, type TestContext } from 'vitest';
import { AuthenticationError } from '../../src/errors.js';
import { Session } from '../../src/session/session.js';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';
import { RunningCommand } from '../support/conclave/running-command.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { recordingLogger } from '../support/recording-logger.js';
import { jaasFor, SASL_PROVIDER } from '../support/servers/jaas.js';
import { SILENT } from '../support/silent-logger.mjs';
import { until } from '../support/waiting.mjs';
import { auth } from '../support/wire/operations.js';
import { RawClient } from '../support/wire/raw-client.js';

const SECRET = 'open-sesame';
/** A setting of its own, so that the server is a real one. */
const PLAIN = { maxSessionTimeout: '60000' };
const users = { jaas: jaasFor({ worker: 'worker-password' }) };
const enforced = { 'enforce.auth.enabled': 'true', 'enforce.auth.schemes': 'sasl' };
const REFUSED = /failed to SASL authenticate/g;

/** A server that writes its log to standard error. */
async function start(options: Parameters<typeof startZooKeeper>[0], { skip }: TestContext) {
  const { servers, connectString, stop } = await startZooKeeper(options);
  onTestFinished(async () => void (await stop()));
  const log = () => servers[0]?.log ?? '';
  skip(log() === '', 'the log of this distribution is elsewhere');
  /** Its log, when that has all that has happened so far: what a client with a scheme of its own causes comes last. */
  const logSoFar = async () => {
    const last = await RawClient.connect(Number(connectString.split(':')[1]));
    onTestFinished(() => last.close());
    await last.errorOf(auth('so-far', ''));
    await until(() => log().includes('so-far'), 'the line about the unknown scheme');
    return log();
  };
  return { connect: connectString, logSoFar };
}

interface Row {
  readonly settings?: Record<string, string>;
  readonly jaas?: string;
  readonly user?: string;
  /** What the server logs once for each try that it refuses. */
  readonly logged: RegExp;
}

describe('a session and a command are refused once for each of them, and show no secret, by a server', () => {
  it.for<[string, Row]>([
    ['that knows another password', { settings: SASL_PROVIDER, ...users, user: 'worker', logged: REFUSED }],
    ['that does not know the user', { settings: SASL_PROVIDER, ...users, user: 'eve', logged: REFUSED }],
    [
      'without SASL',
      {
        user: 'worker',
        logged: /saslServer is null/g,
      },
    ],
    [
      'that requires SASL, if they have no credentials',
      {
        settings: { ...SASL_PROVIDER, ...enforced },
        ...users,
        logged: /does not match with any of the expected authentication scheme/g,
      },
    ],
    [
      'that requires SASL, and knows another password',
      {
        settings: { ...SASL_PROVIDER, ...enforced },
        ...users,
        user: 'worker',
        logged: REFUSED,
      },
    ],
  ])('%s', async ([, { settings = PLAIN, jaas, user, logged }], context) => {
    const { connect, logSoFar } = await start({ settings, ...(jaas !== undefined && { jaas }) }, context);
    const env: Record<string, string> = user === undefined ? {} : { CONCLAVE_SASL: `${user}:${SECRET}` };
    const sasl = user === undefined ? undefined : { username: user, password: SECRET };
    const { lines, logger } = recordingLogger();
    const error = await Session.connect(connect, { sasl, logger }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AuthenticationError);
    const command = new RunningCommand(['run', uniquePath('run'), '--', 'true'], { connect, env });
    expect(await command.exit()).toBe(77);
    const log = await logSoFar();
    expect(log.match(logged)).toHaveLength(2);
    const all = { depth: Number.POSITIVE_INFINITY, showHidden: true };
    for (const shown of [inspect(error, all), inspect(lines, all), command.stdout, command.stderr, log])
      expect(shown).not.toContain(SECRET);
  });
});

it('a server takes no session for one of an old client, and warns of none', async (context) => {
  const { connect, logSoFar } = await start({ settings: PLAIN }, context);
  const session = await openSession({ logger: SILENT }, connect);
  await session.exists('/');
  const log = await logSoFar();
  expect(log).toContain('so-far');
  expect(log).not.toContain('old client');
});

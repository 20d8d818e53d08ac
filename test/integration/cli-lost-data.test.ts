import { expect, it } from 'vitest';
import { RunningCommand } from '../support/conclave/running-command.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { until } from '../support/waiting.mjs';

const ELECTION = '/app/election';

const STARTS_AGAIN = 'fencing tokens and terms start again';

/** Whether the command of some term ran. On a busy machine a lease may be over before a command can start. */
const hasRun = (text: string) => /elected for term (\d+)\n(?:.*\n)*?leads in term \1\n/.test(text);

it('a server that is killed, and starts again without its data is waited for by run and status --watch without a limit, and they go on with its new data', async () => {
  const server = await startEmbedded({ tickMs: 100 });
  const connect = server.connectString;
  const session = ['--session-timeout', '2s'];
  const observing = new RunningCommand(['status', ELECTION, '--watch', ...session], { connect });
  // The command writes to the same stream as `run`, so that the output shows their order.
  const command = ['--', 'sh', '-c', 'echo "leads in term $CONCLAVE_TERM" >&2; sleep 60'];
  const running = new RunningCommand(
    ['run', ELECTION, '--id', 'one', '--restart', '--verbose', ...session, ...command],
    { connect },
  );
  await until(() => hasRun(running.stderr), 'the first term');
  await until(() => /led {2}one term \d+ .*\n$/.test(observing.stdout), 'the sight of it');

  await server.crash();
  await server.restart({ empty: true });
  const sinceTheNewServer = () => running.stderr.split(STARTS_AGAIN)[1] ?? '';
  await until(() => hasRun(sinceTheNewServer()), 'a term on the new server');
  await until(
    () => /\nnot connected to a server\n(.*\n)*.* led {2}one term \d+ .*\n$/.test(observing.stdout),
    'the sight of that',
  );
  // The server's data are gone, so terms begin at 1 again.
  expect(sinceTheNewServer()).toContain('elected for term 1\n');

  for (const runner of [observing, running]) runner.signal('SIGTERM');
  await Promise.all([observing.exit(), running.exit()]);
});

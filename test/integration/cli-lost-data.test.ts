import { describe, expect, it } from 'vitest';
import { freePort } from '../../tools/ports.mjs';
import { RunningCommand } from '../support/conclave/running-command.js';
import { until } from '../support/waiting.mjs';

const ELECTION = '/app/election';

async function startDevServer(port: number): Promise<RunningCommand> {
  const server = new RunningCommand(['dev-server', '--port', `${port}`, '--tick-ms', '100']);
  await until(() => server.stdout !== '', 'the development server');
  return server;
}

const STARTS_AGAIN = 'fencing tokens and terms start again';

/** Whether the command of some term ran. On a busy machine a lease may be over before a command can start. */
const hasRun = (text: string) => /elected for term (\d+)\n(?:.*\n)*?leads in term \1\n/.test(text);

describe('a development server that is killed and started again', () => {
  it('is waited for by run and observe without a limit, and they go on with its new data', async () => {
    const port = await freePort();
    const connect = `127.0.0.1:${port}`;
    const session = ['--session-timeout', '2s'];
    const server = await startDevServer(port);
    const observing = new RunningCommand(['observe', ELECTION, ...session], { connect });
    // The command writes to the same stream as `run`, so that the output shows their order.
    const command = ['--', 'sh', '-c', 'echo "leads in term $CONCLAVE_TERM" >&2; sleep 60'];
    const running = new RunningCommand(
      ['run', ELECTION, '--id', 'one', '--restart', '--verbose', ...session, ...command],
      { connect },
    );
    await until(() => hasRun(running.stderr), 'the first term');
    await until(() => observing.stdout.endsWith('one\n'), 'the sight of it');

    server.signal('SIGKILL');
    await server.exit();
    await startDevServer(port);
    const sinceTheNewServer = () => running.stderr.split(STARTS_AGAIN)[1] ?? '';
    await until(() => hasRun(sinceTheNewServer()), 'a term on the new server');
    await until(() => /one\nnobody leads\n(.*\n)*one\n$/.test(observing.stdout), 'the sight of that');
    // The server's data are gone, so terms begin at 1 again.
    expect(sinceTheNewServer()).toContain('elected for term 1\n');

    for (const runner of [observing, running]) runner.signal('SIGTERM');
    await Promise.all([observing.exit(), running.exit()]);
  });
});

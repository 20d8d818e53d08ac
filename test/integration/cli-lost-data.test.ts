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

const countOf = (text: string, part: string) => text.split(part).length - 1;

describe('a development server that is killed and started again', () => {
  it('is waited for by run and observe without a limit, and they go on with its new data', async () => {
    const port = await freePort();
    const connect = `127.0.0.1:${port}`;
    const session = ['--session-timeout', '1s'];
    const server = await startDevServer(port);
    const observing = new RunningCommand(['observe', ELECTION, ...session], { connect });
    const command = ['--', 'sh', '-c', 'echo "leads in term $CONCLAVE_TERM"; sleep 60'];
    const running = new RunningCommand(
      ['run', ELECTION, '--id', 'one', '--restart', ...session, ...command],
      {
        connect,
      },
    );
    await until(() => running.stdout.includes('leads in term 1'), 'the first term');
    await until(() => observing.stdout.includes('one'), 'the sight of it');

    server.signal('SIGKILL');
    await server.exit();
    await startDevServer(port);
    // Its data are gone, so terms are counted anew.
    await until(() => countOf(running.stdout, 'leads in term 1') === 2, 'the first term on the new server');
    await until(() => countOf(observing.stdout, 'one') === 2, 'the sight of that');
    expect(running.stderr).toContain('fencing tokens and terms start again');

    for (const runner of [observing, running]) runner.signal('SIGTERM');
    await Promise.all([observing.exit(), running.exit()]);
  });
});

import { writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readToken, showsToken } from '../../src/cli/commands/dashboard.js';
import type { DashboardState } from '../../src/dashboard/api-types.js';
import { conclave } from '../support/conclave/command-line.js';
import { follow, getJson, post } from '../support/conclave/dashboards.js';
import { campaign } from '../support/conclave/electors.js';
import { RunningCommand } from '../support/conclave/running-command.js';
import { openSession } from '../support/conclave/sessions.js';
import { startEmbedded } from '../support/servers/embedded.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { onTestFinished } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const TOKEN = 'a-token-of-many-characters';

async function setUp() {
  const server = await startEmbedded();
  const elector = await campaign(await openSession({}, server.connectString), '/elections/a', { id: 'one' });
  onTestFinished(() => elector.stop());
  const start = async (...words: string[]) => {
    const { connectString: connect } = server;
    const command = new RunningCommand(['dashboard', '--port', '0', ...words], { connect });
    await until(() => command.stdout.endsWith('\n'), 'its address');
    return { command, url: command.stdout.trim() };
  };
  return { server, start };
}

function tokenFile(text: string): string {
  const file = join(temporaryFolder(), 'token');
  writeFileSync(file, text);
  return file;
}

describe('conclave dashboard', () => {
  it('prints its address as one line, serves the dashboard read-only, and ends at a signal with its streams', async () => {
    const { server, start } = await setUp();
    const { command, url } = await start();
    expect(command.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\n$/);
    expect(await (await fetch(url)).text()).toMatch(/^<!doctype html>/i);
    const { elections } = await getJson<DashboardState>(`${url}api/elections`);
    expect(elections).toMatchObject([{ path: '/elections/a', leader: { id: 'one' } }]);
    expect((await post(`${url}api/elections/%2Felections%2Fa/resign`, {})).status).toBe(403);
    const { ended } = await follow(`${url}api/events`);
    command.signal('SIGTERM');
    await ended;
    expect([await command.exit(), command.stdout, command.stderr]).toEqual([0, `${url}\n`, '']);
    expect(server.sessions()).toHaveLength(1);
  });

  it('shows the page to whoever has the token, and lets them act', async () => {
    const { start } = await setUp();
    const { url } = await start('--host', '127.0.0.1', '--token-file', tokenFile(`${TOKEN}\n`));
    const response = await fetch(url);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([
      401,
      'Basic realm="Conclave", charset="UTF-8"',
    ]);
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(401);
    expect(await post(`${url}api/elections/%2Felections%2Fa/resign`, {})).toMatchObject({ status: 401 });
    expect((await fetch(`${url}healthz`)).status).toBe(200);
    // A page of another site must not make a browser ask for the token.
    const { hostname, port } = new URL(url);
    const foreign = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { host: 'evil.example' };
      get({ hostname, port, headers, agent: false }, resolve).on('error', reject);
    });
    foreign.resume();
    expect([foreign.statusCode, foreign.headers['www-authenticate']]).toEqual([403, undefined]);
    const basic = { authorization: `Basic ${Buffer.from(`ops:${TOKEN}`).toString('base64')}` };
    const state = (await (await fetch(`${url}api/state`, { headers: basic })).json()) as DashboardState;
    expect(state.mayAct).toBe(true);
    const bearer = { authorization: `Bearer ${TOKEN}` };
    expect(await post(`${url}api/elections/%2Felections%2Fa/resign`, {}, bearer)).toMatchObject({
      status: 200,
    });
  });

  it.each<[string[], RegExp]>([
    [
      ['--host', '0.0.0.0'],
      /^conclave: --host 0\.0\.0\.0: other machines may see the page only with a token\. Give --token-file\.$/,
    ],
    [['--allow-host', 'a.example'], /--allow-host works only with --token-file/],
    [['--token-file', '/nowhere/token'], /--token-file: .*ENOENT/],
    [['--root', 'elections'], /root is "elections"/],
    [['--port', '70000'], /Expected a whole number from 0 to 65535/],
  ])('refuses %j', async (words, said) => {
    const { exitCode, stderr, stdout } = await conclave('dashboard', '-c', '127.0.0.1:1', ...words);
    expect([exitCode, stdout]).toEqual([64, []]);
    expect(stderr).toMatch(said);
  });

  it('says that its port is taken', async () => {
    const { server } = await setUp();
    const words = ['-c', server.connectString, '--port', String(server.port)];
    const { exitCode, stderr } = await conclave('dashboard', ...words);
    expect(exitCode).toBe(69);
    expect(stderr).toContain(`port ${server.port} of 127.0.0.1 is in use`);
  });
});

describe('a token', () => {
  it('is shown as a bearer token, or as the password of any user, whole and in no other way', () => {
    const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
    for (const right of [`Bearer ${TOKEN}`, `bearer  ${TOKEN}`, basic(`:${TOKEN}`), basic(`any:${TOKEN}`)])
      expect(showsToken(right, TOKEN)).toBe(true);
    const wrong = [
      null,
      '',
      TOKEN,
      'Bearer',
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(1)}`,
      basic(TOKEN),
      basic(`a:b${TOKEN}`),
    ];
    for (const each of wrong) expect(showsToken(each, TOKEN)).toBe(false);
  });

  it('is the first line of its file, and long enough', () => {
    expect(readToken(tokenFile(`  ${TOKEN} \nmore\n`))).toBe(TOKEN);
    expect(() => readToken(tokenFile('short\n'))).toThrow('at least 16 characters');
    expect(() => readToken(tokenFile(''))).toThrow('at least 16 characters');
  });
});

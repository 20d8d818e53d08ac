import { describe, expect, it } from 'vitest';
import type { Term } from '../../src/election/term/term.js';
import { conclave } from '../support/conclave/command-line.js';
import { campaign, lead } from '../support/conclave/electors.js';
import { RunningCommand } from '../support/conclave/running-command.js';
import { openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { deferred, until } from '../support/waiting.mjs';

const COMMANDS = ['run', 'status', 'resign', 'prune'];

describe('a command about an election', () => {
  it.each(COMMANDS)('%s has a complete help page', async (name) => {
    const help = new RunningCommand([name, '--help']);
    expect(await help.exit()).toBe(0);
    const page = help.stdout;
    const text = page.replace(/\s+/g, ' ');
    for (const part of [
      `Usage: conclave ${name}`,
      'env: ZOOKEEPER',
      'env: CONCLAVE_AUTH',
      'env: CONCLAVE_SASL',
      '--session-timeout <duration>',
      '--connect-timeout <duration>',
      '--tls',
      'Durations: 500ms, 30s, 2m, 1h',
      'xits with',
      '64',
      '69',
      '77',
      'Example',
    ])
      expect(text).toContain(part);
    expect(text).toMatch(new RegExp(`conclave ${name} /`));
    const options = page.slice(page.indexOf('Options:'), page.indexOf('Durations:'));
    // Each option has a description.
    const named = [...options.matchAll(/^ {2}(-\S.*?)(?: {2,}(.*)|$)/gm)];
    expect(named.length).toBeGreaterThan(7);
    for (const [, option, description = ''] of named) expect(description, option).not.toBe('');
  });

  it.each<[words: string[], said: string]>([
    [['status', '/a', '--root', '/b'], 'which ones? Give the path of one, or --root for all below a path.'],
    [['status', '--root', 'a'], 'Expected an absolute path, beginning with /.'],
    [['status', '--root', '/a/'], 'Expected a path that does not end with /.'],
    [['status', 'jobs'], 'Expected an absolute path, beginning with /.'],
    [['status', '/zookeeper/x'], 'Expected a path outside /zookeeper.'],
    [
      ['status', '/a', '--session-timeout', '0'],
      'Expected a duration, as 500ms, 30s, 2m or 1h, at least 100 ms.',
    ],
    [['status', '/a', '--session-timeout', '5 s'], 'Expected a duration'],
    [
      ['status', '/a', '--session-timeout', '6'],
      "option '--session-timeout <duration>' argument '6' is invalid. 6 is 6 ms: did you mean 6s? The minimum is 100ms.",
    ],
    [
      ['status', '/a', '--session-timeout', '6ms'],
      'Expected a duration, as 500ms, 30s, 2m or 1h, at least 100 ms.',
    ],
    [['status', '/a', '--connect-timeout', '99'], '99 is 99 ms: did you mean 99s? If not, write 99ms.'],
    [
      ['run', '/a', '--wait-timeout', '30d', '--', 'ls'],
      'Expected a duration, as 500ms, 30s, 2m or 1h, at most 24d 20h.',
    ],
    [['once', '/a', '--every', '30d', '--', 'ls'], '1h, at most 24d 20h.'],
    [['run', '/a', '--wait-timeout', '30', '--', 'ls'], '30 is 30 ms: did you mean 30s'],
    [['run', '/a', '--takeover-delay', '5', '--', 'ls'], '5 is 5 ms: did you mean 5s'],
    [['run', '/a', '--grace', '10', '--', 'ls'], '10 is 10 ms: did you mean 10s'],
    [['resign', '/a', '--grace', '10'], '10 is 10 ms: did you mean 10s'],
    [['resign', '/a', '--to', ''], 'Expected a string of 1 to 256 printable characters.'],
    [['status', '/a', '--connect', ''], 'which servers? Give --connect host:port, or set ZOOKEEPER.'],
    [['status', '/a', '--connect', 'host:port'], 'connect'],
    [['status', '/a', '--auth', 'me'], '--auth, or CONCLAVE_AUTH: expected scheme:credentials'],
    [['status', '/a', '--auth', ''], '--auth, or CONCLAVE_AUTH: expected scheme:credentials'],
    [['status', '/a', '--sasl', 'me'], '--sasl, or CONCLAVE_SASL: expected user:password'],
    [['status', '/a', '--sasl', ''], '--sasl, or CONCLAVE_SASL: expected user:password'],
    [['status', '/a', '--sasl', ':secret'], '--sasl, or CONCLAVE_SASL: expected user:password'],
    [['status', '/a', '--ca', '/no/such/file'], '--ca: ENOENT'],
    [['status', '/a', '--cert', '/dev/null'], '--cert and --key go together: give both or neither.'],
    [['status', '/a', '--cert', '/dev/null', '--key', '/dev/null'], 'session.tls() is (not shown)'],
    [['resign', '/a', '--grace', '-1s'], 'Expected a duration'],
    [['resign', '/a', 'more'], "too many arguments for 'resign'"],
    [['run', '/a', '--data', 'x'.repeat(20_000), '--', 'ls'], 'at most 16384 bytes'],
    [['run', '/a', '--priority', '256', '--', 'ls'], 'Expected a whole number from 0 to 255.'],
    [['run', '/a', '--id', '', '--', 'ls'], 'Expected'],
    [['run', '/a', '--no-wait', '--wait-timeout', '1s', '--', 'ls'], 'cannot be used with option'],
    [['run', '/a'], "missing required argument 'command'"],
    [['run', '/a', 'ls', '-l'], "unknown option '-l'"],
    [['run', '/a', '--grace', 'long', '--', 'ls'], 'Expected a duration'],
  ])('refuses %j', async (words, said) => {
    const { exitCode, stdout, stderr } = await conclave(...words);
    expect(stderr).toContain(said);
    expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: [] });
  });

  it('takes an empty CONCLAVE_AUTH and an empty CONCLAVE_LOG_LEVEL for none (it exited with 64)', async () => {
    const env = { CONCLAVE_AUTH: '', CONCLAVE_SASL: '', CONCLAVE_LOG_LEVEL: '' };
    const path = uniquePath('empty');
    const status = new RunningCommand(['status', path], { env });
    expect({ exitCode: await status.exit(), stderr: status.stderr }).toEqual({
      exitCode: 1,
      stderr: `conclave: there is nothing at ${path}\n`,
    });
  });

  it.each(['\n', '\r\n'])(
    'refuses credentials that end with the line break %j, by name, and does not show them (the servers refused them)',
    async (lineBreak) => {
      const credentials = `digest:alice:secret${lineBreak}`;
      const user = `alice:secret${lineBreak}`;
      for (const { words, env } of [
        { words: ['--sasl', user], env: {} },
        { words: [], env: { CONCLAVE_SASL: user } },
        { words: ['--auth', credentials], env: {} },
        { words: [], env: { CONCLAVE_AUTH: credentials } },
      ]) {
        const status = new RunningCommand(['status', uniquePath('line-break'), ...words], { env });
        expect(await status.exit()).toBe(64);
        expect(status.stderr).toMatch(
          /^conclave: --(auth, or CONCLAVE_AUTH|sasl, or CONCLAVE_SASL): .* without a line break at the end\.\n$/,
        );
        expect(status.stderr).not.toContain('secret');
      }
    },
  );

  it('logs to standard error, at the level that the environment names', async () => {
    // The servers grant another session timeout, of which the command warns.
    const words = ['status', '/a', '--session-timeout', '100ms'];
    const log = new RunningCommand(words, { env: { CONCLAVE_LOG_LEVEL: 'warn' } });
    expect(await log.exit()).toBe(1);
    expect(log.stdout).toBe('there is no such election\n');
    expect(log.stderr).toContain('"name":"conclave"');
    const wrong = new RunningCommand(['status', '/a'], { env: { CONCLAVE_LOG_LEVEL: 'loud' } });
    expect(await wrong.exit()).toBe(64);
    expect(wrong.stderr).toContain('CONCLAVE_LOG_LEVEL is "loud": expected one of silent');
  });

  it.each(['status /a', 'status --root /a --watch', 'resign /a'])(
    '%s ends with 69 when no server is there',
    async (line) => {
      const words = `${line} -c 127.0.0.1:1 --connect-timeout 200ms`.split(' ');
      const { exitCode, stderr } = await conclave(...words);
      expect(exitCode).toBe(69);
      expect(stderr).toMatch(/^conclave: no server .*accepted the session within 200 ms/m);
    },
  );
});

describe('conclave status', () => {
  it('exits with 1 if there is no such election, and if it has no leader', async () => {
    const path = uniquePath('cli');
    expect(await conclave('status', path)).toMatchObject({
      exitCode: 1,
      stdout: ['there is no such election'],
    });
    await (await openSession()).create(path);
    expect(await conclave('status', path)).toMatchObject({ exitCode: 1, stdout: ['nobody leads'] });
    const { exitCode, stdout } = await conclave('status', path, '--json');
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout[0] as string)).toEqual({
      election: path,
      exists: true,
      leader: null,
      candidates: [],
    });
  });

  it('prints the leader and the waiting candidates in the order of the queue, with control characters escaped', async () => {
    const { session, path } = await openWithPath('cli');
    await lead(session, path, { id: 'one', data: 'at\n\u001b[2Jhome' });
    await campaign(session, path, { id: 'two', data: new Uint8Array([1, 2, 255]) });
    await campaign(session, path, { id: 'three' });
    expect(await conclave('status', path)).toMatchObject({
      exitCode: 0,
      stdout: [
        expect.stringMatching(
          /^term 1 {2}one {2}at\\u000a\\u001b\[2Jhome\nheartbeat {2}\d+ ms ago, .*\nwaits {2}two {2}\(3 bytes\)\nwaits {2}three$/,
        ),
      ],
    });
    const { stdout } = await conclave('status', path, '--json');
    expect(JSON.parse(stdout[0] as string)).toMatchObject({
      exists: true,
      term: 1,
      leader: { id: 'one', position: 0, data: 'at\n\u001b[2Jhome' },
      heartbeatAgeMs: expect.any(Number),
      candidates: [
        { id: 'one', position: 0 },
        { id: 'two', position: 1, base64: 'AQL/' },
        { id: 'three', position: 2 },
      ],
    });
  });

  it('says of each waiting candidate that prepares whether it is prepared', async () => {
    const { session, path } = await openWithPath('cli');
    await lead(session, path, { id: 'one' });
    const loaded = deferred<undefined>();
    const warm = { id: 'warm', prepare: () => loaded.promise, lead: ({ ended }: Term) => ended };
    await campaign(await openSession(), path, warm);
    const last = async (...options: string[]) =>
      (await conclave('status', path, ...options)).stdout.join('\n').split('\n').at(-1) as string;
    expect(await last()).toBe('waits  warm  not prepared');
    loaded.resolve(undefined);
    await until(async () => (await last()) === 'waits  warm  prepared');
    const [leader, next] = JSON.parse(await last('--json')).candidates;
    expect([leader.prepared, next.prepared]).toEqual([undefined, true]);
  });

  it('prints how old the newest heartbeat of a leader is that falls silent', async () => {
    const path = uniquePath('cli');
    const proxy = await startProxy();
    await lead(await openSession({ sessionTimeoutMs: 20_000, leaseMs: 400 }, proxy.connectString), path);
    const age = async () => {
      const { stdout } = await conclave('status', path, '--json');
      return JSON.parse(stdout[0] as string).heartbeatAgeMs as number;
    };
    await until(async () => (await age()) < 400, 'a heartbeat');
    proxy.partition();
    await until(async () => (await age()) > 1000, 'none for longer than two leases');
  });
});

describe('conclave resign', () => {
  it('lets the leader step down', async () => {
    const { session, path } = await openWithPath('cli');
    const [first] = await lead(session, path, { id: 'one' });
    const second = await campaign(session, path, { id: 'two' });
    expect(await conclave('resign', path)).toMatchObject({ exitCode: 0, stdout: ['one'] });
    await until(() => second.term !== undefined, 'the next term');
    expect(first.term).toBeUndefined();
  });

  it('exits with 1 if there is no leader, and with 75 if the leader refuses', async () => {
    const path = uniquePath('cli');
    expect(await conclave('resign', path)).toMatchObject({ exitCode: 1, stdout: ['nobody leads'] });
    await lead(await openSession(), path, { id: 'one', onRevoke: () => false });
    const { exitCode, stdout, stderr } = await conclave('resign', path, '--grace', '1s');
    expect({ exitCode, stdout }).toEqual({ exitCode: 75, stdout: [] });
    expect(stderr).toBe('conclave: "one" did not step down: it refused'.replaceAll('"', ''));
  });
});

describe('conclave resign --to', () => {
  it('lets the named candidate lead, past others in the queue, and prints the former and the new leader', async () => {
    const { session, path } = await openWithPath('cli');
    await lead(session, path, { id: 'one' });
    const elected: string[] = [];
    for (const id of ['two', 'three']) {
      const elector = await campaign(await openSession(), path, { id });
      elector.on('elected', () => void elected.push(id));
    }
    expect(await conclave('resign', path, '--to', 'three')).toMatchObject({
      exitCode: 0,
      stdout: ['one → three'],
      stderr: '',
    });
    await until(() => elected.length > 0, 'the next term');
    expect(elected).toEqual(['three']);
    expect(await conclave('resign', path, '--to', 'three')).toMatchObject({
      exitCode: 0,
      stdout: ['three already leads'],
    });
  });

  it('exits with 64 if there is no such candidate, 75 if the leader refuses, and 1 if there is no leader', async () => {
    const path = uniquePath('cli');
    expect(await conclave('resign', path, '--to', 'two')).toMatchObject({
      exitCode: 1,
      stdout: ['nobody leads'],
    });
    const [, term] = await lead(await openSession(), path, { id: 'one', onRevoke: () => false });
    const missing = await conclave('resign', path, '--to', 'two');
    expect(missing).toMatchObject({ exitCode: 64, stdout: [] });
    expect(missing.stderr).toBe('conclave: there is no candidate "two" that can be asked to lead');
    await campaign(await openSession(), path, { id: 'two' });
    const refused = await conclave('resign', path, '--to', 'two', '--grace', '1s');
    expect(refused).toMatchObject({ exitCode: 75, stdout: [] });
    expect(refused.stderr).toBe('conclave: one did not step down: it refused');
    expect(term.isHeld()).toBe(true);
  });

  it('exits with 75 and says who leads, if the candidate leaves before the leader has settled', async () => {
    const path = uniquePath('cli');
    const settled = deferred();
    const [leader] = await lead(await openSession(), path, { id: 'one', lead: () => settled.promise });
    const demoted = nextEvent(leader, 'demoted');
    await campaign(await openSession(), path, { id: 'two' });
    const named = await campaign(await openSession(), path, { id: 'three' });
    const handedOver = conclave('resign', path, '--to', 'three', '--grace', '10s');
    await demoted;
    await named.stop();
    settled.resolve();
    expect(await handedOver).toMatchObject({
      exitCode: 75,
      stdout: ['one → two'],
      stderr: 'conclave: three does not lead: it has left the queue, or the leader lost its term first',
    });
    await leader.stop(); // In the other order it might lead once more.
  });
});

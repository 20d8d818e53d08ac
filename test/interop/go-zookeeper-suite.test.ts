import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, it } from 'vitest';
import { findGo } from '../../tools/peers/installed.mjs';
import { temporaryFolder } from '../support/temporary-folder.js';

const PACKAGE = 'github.com/samuel/go-zookeeper/zk';
const SERVER = join(import.meta.dirname, 'foreign-clients/embedded-server.mjs');

const NEEDS_SERVERS = 'starts several servers, which form an ensemble';

/** The cases that don't pass, each with the reason. All others pass. */
const NOT_PASSED: Readonly<Record<string, string>> = {
  TestAuth: 'expects getACL to work without a right, as in ZooKeeper 3.4. It fails on ZooKeeper 3.8.0 too',
  TestBasicCluster: NEEDS_SERVERS,
  TestClientClusterFailover: NEEDS_SERVERS,
  TestDNSHostProviderReconnect: NEEDS_SERVERS,
  TestIfAuthdataSurvivesReconnect: 'kills the process of the server, which has its nodes in memory',
  TestNoQuorum: NEEDS_SERVERS,
  TestRecurringReAuthHang: 'is left out by its authors',
};
/** They have no server. They expect the text of a panic that Go has changed since, and the panic ends the whole run. */
const LEFT_OUT = ['TestDecodeShortBuffer', 'TestEncodeShortBuffer'];
/** Debian's go-zookeeper has 33 without those of `LEFT_OUT`. */
const FEWEST_CASES = 30;
const LONGEST_MS = 300_000;

/** The suite starts `java -jar <jar> server <zoo.cfg>`, with a jar that it looks for below `ZOOKEEPER_PATH`. */
async function putEmbeddedServerInPlaceOfJava(): Promise<string> {
  const folder = temporaryFolder();
  await mkdir(join(folder, 'contrib/fatjar'), { recursive: true });
  await writeFile(join(folder, 'contrib/fatjar/zookeeper-embedded-fatjar.jar'), '');
  await writeFile(join(folder, 'java'), `#!/bin/sh\nexec '${process.execPath}' '${SERVER}' "$@"\n`);
  await chmod(join(folder, 'java'), 0o755);
  return folder;
}

it('passes the tests that come with go-zookeeper, but for what one server in memory can not do', {
  timeout: LONGEST_MS,
}, async () => {
  const folder = await putEmbeddedServerInPlaceOfJava();
  const [program = '', ...args] = findGo();
  const go = (...more: string[]) =>
    execa(program, [...args, ...more, PACKAGE], {
      env: { ZOOKEEPER_PATH: folder, PATH: `${folder}:${process.env.PATH}` },
      reject: false,
      timeout: LONGEST_MS - 5000,
    });
  const { stdout: source } = await go('list', '-f', '{{.Dir}}/server_help.go');
  // The suite waits for an answer to `srvr` in the format of ZooKeeper 3.4, in which 3.8 and 3.9 don't answer either.
  const waitsForSrvr = '_, ok := FLWSrvr(serverAddrs, time.Second)';
  const code = await readFile(source, 'utf8');
  expect(code).toContain(waitsForSrvr);
  const changed = join(folder, 'server_help.go');
  await writeFile(changed, code.replace(waitsForSrvr, 'ok := FLWRuok(serverAddrs, time.Second)[0]'));
  const overlay = join(folder, 'overlay.json');
  await writeFile(overlay, JSON.stringify({ Replace: { [source]: changed } }));
  const options = ['-vet=off', '-overlay', overlay];

  const { stdout: list } = await go('test', ...options, '-list', '^Test');
  const cases = list.split('\n').filter((name) => name.startsWith('Test') && !LEFT_OUT.includes(name));
  expect(cases.length).toBeGreaterThan(FEWEST_CASES);
  const { stdout } = await go('test', ...options, '-v', '-run', `^(${cases.join('|')})$`);
  const passed = new Set([...stdout.matchAll(/^--- PASS: (\w+)/gm)].map(([, name]) => name));
  expect(cases.filter((name) => !passed.has(name)).toSorted(), stdout).toEqual(Object.keys(NOT_PASSED));
});

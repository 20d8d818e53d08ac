import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execaNode } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VERSION } from '../../src/public-class/version.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const ROOT = join(import.meta.dirname, '../..');
const OTHER_VERSION = '9.8.7';

interface Report {
  readonly messages: Readonly<Record<string, string>>;
  readonly instanceOf: readonly string[];
}

describe('beside another copy of the library in the same process', () => {
  const folder = temporaryFolder(afterAll);
  let report: Report;

  beforeAll(async () => {
    cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const versioned = join(folder, 'dist/held-term.js');
    const code = readFileSync(versioned, 'utf8');
    expect(code).toContain(`"${VERSION}"`);
    writeFileSync(versioned, code.replace(`"${VERSION}"`, `"${OTHER_VERSION}"`));
    const fixture = join(ROOT, 'test/fixtures/two-copies.mjs');
    const { stdout } = await execaNode(fixture, [join(folder, 'dist')], { timeout: 30_000 });
    report = JSON.parse(stdout);
  });

  it.each([
    ['lock', 'session', 'a Session', 'a Session'],
    ['elector', 'session', 'a Session', 'a Session'],
    ['revocation', 'session', 'a Session', 'a Session'],
    ['observer', 'session', 'a Session', 'a Session, a connect string or an ElectionSupervisor'],
    [
      'observer of a supervisor',
      'session',
      'an ElectionSupervisor',
      'a Session, a connect string or an ElectionSupervisor',
    ],
    ['observer of a source', 'session', 'a Session', 'a Session'],
    ['observer of shards', 'session', 'a Session', 'a Session, a connect string or a supervisor'],
    [
      'locks',
      'locks',
      'a QueueLock',
      'a DistributedLock, a lock of a ReadWriteLock, a Semaphore or a MultiLock',
    ],
    ['downgrade', 'hold', 'a LockHold', 'a hold of the write lock of /locks/one'],
    ['jobs', 'leadership', 'a LeaderElector', 'an ElectionSupervisor or a LeaderElector'],
    ['entrusted', 'elector', 'a LeaderElector', 'a LeaderElector'],
    ['clock', 'clock', 'a TestClock', 'a clock with the methods now, date and after, as a TestClock'],
  ])('what belongs to that one is refused for it: %s', (misuse, option, what, expected) => {
    expect(report.messages[misuse]).toBe(
      `${option} is ${what} of another copy of conclave (${OTHER_VERSION}): expected ${expected} of this copy (${VERSION}); ` +
        '`npm ls conclave` shows which package brings which copy; give all the same version and run `npm dedupe`, so that one copy is left',
    );
  });

  it('its errors are of the classes of the same name, and of no others', () => {
    expect([...report.instanceOf].sort()).toEqual([
      'ConclaveError',
      'Error',
      'NoNodeError',
      'ZooKeeperError',
    ]);
  });
});

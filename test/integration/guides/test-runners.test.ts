import { join } from 'node:path';
import { execaNode } from 'execa';
import { describe, expect, it } from 'vitest';
import { GUIDES } from '../../support/conclave/running-guide.js';

const FOLDER = join(GUIDES, 'testing');
const ROOT = join(GUIDES, '../..');
const inPlainProcess = { all: true, reject: false, cwd: FOLDER, timeout: 58_000 } as const;

describe('the tests of the guides', () => {
  // The guide's vitest file is among the files that the configuration of the tests includes.
  it('pass in Jest', async () => {
    const jest = join(ROOT, 'node_modules/jest/bin/jest.js');
    const { all, exitCode } = await execaNode(jest, ['--rootDir', FOLDER], {
      ...inPlainProcess,
      env: { NODE_OPTIONS: '--experimental-vm-modules' },
    });
    expect(exitCode, all).toBe(0);
    expect(all).toMatch(/^Tests: +1 passed, 1 total$/m);
  });

  it('pass in node:test', async () => {
    const { all, exitCode } = await execaNode(join(FOLDER, 'reminders.node.mjs'), [], {
      ...inPlainProcess,
      env: { NODE_TEST_CONTEXT: undefined },
    });
    expect(exitCode, all).toBe(0);
    expect(all).toMatch(/^# pass 1$/m);
  });
});

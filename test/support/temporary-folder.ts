import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from './vitest/test-end.js';

/** An empty folder. It is removed when the test has ended, or when `atEnd` says, such as `afterAll`. */
export function temporaryFolder(atEnd: (remove: () => void) => void = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-test-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

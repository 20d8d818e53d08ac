import { join } from 'node:path';
import { execaNode } from 'execa';
import { describe, expect, it } from 'vitest';
import { GUIDES } from '../../support/conclave/running-guide.js';

const LEADS = 'A has computed, and still leads';

describe('a leader that computes for longer than its lease', () => {
  it.each([
    ['block', '5000', ['B leads', 'A is demoted: lease-expired', 'A has computed, and leads no more']],
    ['watchdog', '5000', ['A has ended: SIGKILL', 'B leads']],
    ['thread', '3000', [LEADS, 'A is demoted: stopped', 'B leads']],
    [
      'thread-and-block',
      '5000',
      [
        'the thread of A stops: term 1 is over',
        'B leads',
        'A is demoted: lease-expired',
        'A has computed, and leads no more',
      ],
    ],
    ['pieces', '3000', [LEADS, 'A is demoted: stopped', 'B leads']],
    ['long-lease', '3000', [LEADS, 'A is demoted: stopped', 'B leads']],
  ])('with %s, for %s ms, prints what the guide says', async (way, computeMs, expected) => {
    const program = join(GUIDES, 'blocked-loops/main.mjs');
    const { stdout } = await execaNode(program, [way, computeMs], { timeout: 58_000 });
    const said = stdout.split('\n').map((line) => line.replace(/^(?:[\d.]+ s| +) {2}/, ''));
    expect(said.filter((line) => expected.includes(line))).toEqual(expected);
  });
});

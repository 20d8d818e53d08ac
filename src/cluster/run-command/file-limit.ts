import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * The words that come before a command so that it has the limit of open files that this process was started with. Node raises its own
 * limit, which a child inherits, and a program may close all files up to it, or use `select`. The limit is the one of the process that
 * started this one, where `/proc` shows that. They start util-linux's `prlimit`, which becomes the command; none where there isn't one.
 */
export function withFileLimitOf(pid: number): readonly string[] {
  const [before, now] = [softLimitOf(pid), softLimitOf('self')];
  if (before === undefined || now === undefined || before >= now) return [];
  const words = [`--nofile=${before}:`] as const;
  return spawnSync('prlimit', [...words, 'true'], { stdio: 'ignore' }).status === 0
    ? ['prlimit', ...words]
    : [];
}

function softLimitOf(pid: number | 'self'): number | undefined {
  try {
    const [, soft] =
      /^Max open files +(\d+|unlimited)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1')) ?? [];
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? Number.NaN) || undefined;
  } catch {
    return undefined;
  }
}

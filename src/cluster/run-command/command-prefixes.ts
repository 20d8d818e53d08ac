import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * The words that come before a command so that the kernel sends it this signal when this process ends, however that ends. They start
 * util-linux's `setpriv`, which becomes the command. None where there is no such program: then the command lives on.
 */
export function endingWithParent(signal: 'KILL' | 'TERM'): readonly string[] {
  const setpriv = ['setpriv', '--pdeathsig', signal] as const;
  const [program, ...words] = setpriv;
  const works =
    process.platform === 'linux' && spawnSync(program, [...words, 'true'], { stdio: 'ignore' }).status === 0;
  return works ? [...setpriv, '--'] : [];
}

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

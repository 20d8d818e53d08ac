import { spawnSync } from 'node:child_process';

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

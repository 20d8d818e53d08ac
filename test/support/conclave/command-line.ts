import { vi } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.js';
import { connectString } from './sessions.js';

/** Runs a command line in this process, and returns what it printed. */
export async function conclave(...words: string[]) {
  const lines: string[] = [];
  const print = vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line));
  const complain = vi.spyOn(console, 'error').mockReturnValue();
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const env = process.env.ZOOKEEPER;
  process.env.ZOOKEEPER = connectString();
  try {
    const exitCode = await runCommandLine(words);
    const said = [...complain.mock.calls, ...write.mock.calls].map(([text]) => text);
    return { exitCode, stdout: lines, stderr: said.join('').trimEnd() };
  } finally {
    if (env === undefined) delete process.env.ZOOKEEPER;
    else process.env.ZOOKEEPER = env;
    for (const spy of [print, complain, write]) spy.mockRestore();
  }
}

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  createReadStream,
  existsSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../temporary-folder.js';
import { onTestFinished } from '../vitest/test-end.js';
import { until } from '../waiting.mjs';

/** An output that a process may get as its standard output or standard error, and that takes nothing, at the latest once it is lost. */
export interface BrokenOutput {
  readonly descriptor: number;
  /** Closes the terminal, if it is one. Call it when the process has started. */
  lose(): Promise<void>;
}

/** The outputs that take nothing, by what is wrong with each. */
export const BROKEN_OUTPUTS = {
  'on a full device': fullDevice,
  'a closed pipe': closedPipe,
  'a pipe that nobody reads': unreadPipe,
  'a terminal that is gone': lostTerminal,
} satisfies Record<string, () => BrokenOutput | Promise<BrokenOutput>>;

export type BrokenOutputName = keyof typeof BROKEN_OUTPUTS;

const nothingToLose = () => Promise.resolve();

/** Every write fails with ENOSPC. */
function fullDevice(): BrokenOutput {
  return { descriptor: closedInTheEnd(openSync('/dev/full', 'w')), lose: nothingToLose };
}

/** Every write fails with EPIPE. */
function closedPipe(): BrokenOutput {
  const { descriptor } = pipeWithoutReader();
  return { descriptor: closedInTheEnd(descriptor), lose: nothingToLose };
}

/** A write that may wait never ends. */
function unreadPipe(): BrokenOutput {
  const { reader, writer } = namedPipe();
  fill(closedInTheEnd(reader));
  return { descriptor: closedInTheEnd(writer), lose: nothingToLose };
}

/** Every write fails with EIO, once it is lost. It isn't the controlling terminal, so the process gets no SIGHUP. */
async function lostTerminal(): Promise<BrokenOutput> {
  const file = join(temporaryFolder(), 'terminal');
  const command = `tty > '${file}.part'; mv '${file}.part' '${file}'; cat`;
  const terminal = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = once(terminal, 'exit');
  onTestFinished(() => void terminal.kill('SIGKILL'));
  await until(() => existsSync(file), 'a terminal');
  const path = readFileSync(file, 'utf8').trim();
  return {
    descriptor: closedInTheEnd(openSync(path, constants.O_WRONLY | constants.O_NOCTTY)),
    lose: async () => {
      terminal.kill('SIGKILL');
      await ended;
    },
  };
}

/** The writing end of a pipe. A write fails with EPIPE while it has no reader. Close the writer when a process has inherited it. */
export function pipeWithoutReader() {
  const { path, reader, writer } = namedPipe();
  closeSync(reader);
  return {
    descriptor: writer,
    openReader: () => createReadStream(path, { encoding: 'utf8' }),
    closeWriter: () => closeSync(writer),
  };
}

/** Both ends of a pipe. Neither end is inherited by another process that the test starts. */
function namedPipe(): { readonly path: string; readonly reader: number; readonly writer: number } {
  const path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { path, reader, writer: openSync(path, 'w') };
}

function fill(reader: number): void {
  const writer = openSync(`/proc/self/fd/${reader}`, constants.O_WRONLY | constants.O_NONBLOCK);
  for (const size of [4096, 1]) {
    try {
      for (;;) writeSync(writer, Buffer.alloc(size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
  closeSync(writer);
}

function closedInTheEnd(descriptor: number): number {
  onTestFinished(() => closeSync(descriptor));
  return descriptor;
}

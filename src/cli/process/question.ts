import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/**
 * Asks a question that is answered by yes or no. Anything but `y` or `yes` is a no, and so is the end of the input. Without raw
 * mode, so that Ctrl+C ends the process as ever.
 */
export async function isConfirmed(question: string, input: Readable, output: Writable): Promise<boolean> {
  output.write(`${question} [y/N] `);
  const lines = createInterface({ input, terminal: false });
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
  }
}

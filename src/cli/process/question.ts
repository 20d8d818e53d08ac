import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/**
 * Asks a yes-or-no question. Any answer but `y` or `yes` is a no, and so is the end of the input. It doesn't use the terminal's
 * raw mode, so Ctrl+C still ends the process.
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

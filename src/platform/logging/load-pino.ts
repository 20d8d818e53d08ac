import type { pino } from 'pino';
import { InvalidOptionError } from '../../errors.js';

/**
 * Loads pino, only where it is used: it takes as long to load as half of Conclave.
 *
 * @param variable - the variable that names the level
 * @throws {@link InvalidOptionError} if pino isn't installed, as beside a bundle: bundlers don't find what is loaded like this
 */
export function loadPino(variable: string, level: string): typeof pino {
  // A bundle that is CommonJS has no URL of the module: then pino is looked for beside the program.
  const here = (import.meta.url as string | undefined) ?? process.argv[1] ?? `${process.cwd()}/`;
  // Not imported: a bundler that recognizes `createRequire` looks at its argument, and warns of this one.
  const { createRequire } = process.getBuiltinModule('node:module');
  try {
    return (createRequire(here)('pino') as { pino: typeof pino }).pino;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    const expected = `pino to be installed where it is found from ${here} (a bundle doesn't contain it), or the option \`logger\``;
    throw new InvalidOptionError(variable, level, expected);
  }
}

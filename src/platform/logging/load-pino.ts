import type { pino } from 'pino';
import { InvalidOptionError } from '../../errors.js';

/**
 * Loads pino, only on use: loading it takes as long as loading half of Conclave.
 *
 * @param variable - the environment variable that names the level
 * @throws {@link InvalidOptionError} if pino isn't installed, for example beside a bundle: bundlers don't find a module that is
 *   loaded like this
 */
export function loadPino(variable: string, level: string): typeof pino {
  // A CommonJS bundle has no URL of the module. Then pino is searched beside the program.
  const here = (import.meta.url as string | undefined) ?? process.argv[1] ?? `${process.cwd()}/`;
  // `createRequire` isn't imported, because a bundler that recognizes it looks at its argument and warns of this one.
  const { createRequire } = process.getBuiltinModule('node:module');
  try {
    return (createRequire(here)('pino') as { pino: typeof pino }).pino;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    const expected = `pino to be installed where ${here} finds it (a bundle doesn't contain it), or the option \`logger\``;
    throw new InvalidOptionError(variable, level, expected);
  }
}

import type { pino } from 'pino';
import { InvalidOptionError } from '../../errors.js';

/**
 * Only where it is to say something: it takes as long to load as half of Conclave.
 *
 * @param variable - that names a level of pino's
 * @throws {@link InvalidOptionError} if pino isn't there, as beside a bundle: bundlers don't find what is loaded like this
 */
export function loadPino(variable: string, level: string): typeof pino {
  // In a bundle that is CommonJS there is no URL of the module: then pino is looked for beside what was started.
  const here = (import.meta.url as string | undefined) ?? process.argv[1] ?? `${process.cwd()}/`;
  // Not imported: a bundler that knows it by its name looks into what it is called with, and warns of this.
  const { createRequire } = process.getBuiltinModule('node:module');
  try {
    return (createRequire(here)('pino') as { pino: typeof pino }).pino;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    const expected = `pino to be installed where it is found from ${here} (a bundle doesn't contain it), or the option \`logger\``;
    throw new InvalidOptionError(variable, level, expected);
  }
}

import { checkPath } from '../../platform/checks.js';

/** Checks a path below which to look, the root `/` included. @throws InvalidOptionError if it isn't a path */
export function checkRoot(text: string): void {
  if (text !== '/') checkPath('root', text);
}

import { checkPath } from '../../platform/checks.js';

/** A path below which to look: any, the root included. @throws InvalidOptionError if it is none */
export function checkRoot(text: string): void {
  if (text !== '/') checkPath('root', text);
}

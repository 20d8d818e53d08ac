import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { EXIT } from './exit-codes.js';
import { UserError } from './user-error.js';

/**
 * Looks whether a command can be started, as the system would: before anybody is kept from leading by one who can't.
 *
 * @throws Problem with a shell's exit codes if it can't be found, or not be run
 */
export function checkCommand(command: string, searchPath = process.env.PATH ?? ''): void {
  const places = command.includes('/')
    ? [command]
    : searchPath.split(delimiter).map((folder) => join(folder, command));
  const files = command === '' ? [] : places.filter(isFile);
  if (files.some(isExecutable)) return;
  if (files.length > 0) throw new UserError(EXIT.notExecutable, `${command} can't be executed`);
  throw new UserError(EXIT.notFound, `there is no command ${command}`);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

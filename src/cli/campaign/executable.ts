import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { EXIT } from '../process/exit-codes.js';
import { UserError } from '../process/user-error.js';

/**
 * Checks that the system could start a command. Call it before the candidate takes a place in the queue: a leader that can't
 * run its command would only keep other candidates from leading.
 *
 * @throws UserError with a shell's exit code if the command can't be found, or not be executed
 */
export function checkExecutable(command: string, searchPath = process.env.PATH ?? ''): void {
  const paths = command.includes('/')
    ? [command]
    : searchPath.split(delimiter).map((folder) => join(folder, command));
  const files = command === '' ? [] : paths.filter(isFile);
  if (files.some(isExecutable)) return;
  if (files.length > 0)
    throw new UserError(
      EXIT.notExecutable,
      `${command} can't be executed: is it a program, and may this user execute it?`,
    );
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

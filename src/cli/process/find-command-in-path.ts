import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { EXIT, UserError } from './exit-codes.js';
import { printError } from './output.js';
import { changedVariables } from './refuse-non-utf8.js';

/** @throws UserError on Windows */
export function checkPosix(subcommand: string): void {
  if (process.platform === 'win32')
    throw new UserError(
      EXIT.unavailable,
      `conclave ${subcommand} needs process sessions that it can end as a whole, and Windows has none: use a POSIX system`,
    );
}

/**
 * Checks that the system could start a command, and prints which variables the command gets changed. Call it before the candidate takes a
 * place in the queue: a leader that can't run its command would only keep other candidates from leading.
 *
 * @throws UserError with a shell's exit code if the command can't be found, or not be executed
 */
export function checkCommand(command: string): void {
  checkExecutable(command);
  for (const variable of changedVariables())
    printError(`the command gets a changed value of the variable ${variable}: its value isn't UTF-8`);
}

/**
 * @throws UserError with a shell's exit code if the command can't be found, or not be executed
 */
export function checkExecutable(command: string, searchPath = process.env.PATH ?? ''): void {
  const paths = command.includes('/')
    ? [command]
    : searchPath.split(delimiter).map((folder) => join(folder, command));
  const found = command === '' ? [] : paths.map(lookAt);
  if (found.includes('executable')) return;
  // Of PATH, folders that this user may not enter are skipped, as `execvp` and shells do. A path that is given is meant.
  if (found.includes('other') || (command.includes('/') && found.includes('hidden')))
    throw new UserError(
      EXIT.notExecutable,
      `${command} can't be executed: is it a program, and may this user execute it?`,
    );
  throw new UserError(EXIT.notFound, `there is no command ${command}`);
}

/** `other`: a file that can't be executed. `hidden`: this user may not enter a folder on the way. */
function lookAt(path: string): 'executable' | 'other' | 'absent' | 'hidden' {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return 'absent';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'hidden' : 'absent';
  }
  try {
    accessSync(path, constants.X_OK);
    return 'executable';
  } catch {
    return 'other';
  }
}

import { execFileSync } from 'node:child_process';

/** The value of an environment variable; `undefined` if it is not set, or blank. @param {string} name */
export function fromEnvironment(name) {
  const value = process.env[name]?.trim();
  return value === '' ? undefined : value;
}

/** Whether a command is installed and ends with 0. @param {string} command @param {string[]} args */
export function runs(command, ...args) {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The mark of a keeper, in the environment of its command: it finds a command whose start the keeper hasn't reported. */
export const MARK = 'CONCLAVE_KEEPER';

/**
 * Whether this process belongs to the command of a keeper. That keeper's signals reach the process session of its command, and nothing that
 * has a session of its own. So all that this process starts has to be in that session, or has to end as soon as this process is killed.
 */
export function isBelowKeeper(): boolean {
  return process.env[MARK] !== undefined;
}

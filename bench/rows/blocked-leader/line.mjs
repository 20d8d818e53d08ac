import { Child } from '../../harness/child.mjs';

const SCRIPT = new URL('../processes/blocked-candidate.mjs', import.meta.url);

/** A process of the row. @param {string[]} [execArgv] */
export function startCandidate(execArgv = []) {
  return new Child(SCRIPT, { execArgv });
}

/**
 * Starts a process for each of the sessions. They join one after the other: the first one leads, the others wait in this order.
 *
 * @param {string} connect
 * @param {string} path
 * @param {readonly object[]} sessions the options of each
 */
export async function joinLine(connect, path, sessions) {
  /** @type {Child[]} */
  const children = [];
  /** @type {{ tookMs: number, rssMb: number }[]} */
  const joined = [];
  const end = async () => void (await Promise.all(children.map((each) => each.end())));
  try {
    for (const session of sessions) {
      const child = startCandidate();
      children.push(child);
      joined.push(await child.ask('join', { connect, path, session }));
    }
    return { children, joined, end };
  } catch (error) {
    await end();
    throw error;
  }
}

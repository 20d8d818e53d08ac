import { isIP } from 'node:net';
import { callOnce } from './async/promises.js';
import type { Environment } from './injected-environment.js';

/** The lookups that haven't ended, of all sessions. A resolver that is silent blocks one of Node's few threads for each. */
const lookups = new WeakMap<Environment, Map<string, Promise<readonly string[]>>>();

/** Looks a name up. While a lookup of the name hasn't ended, no second one begins. */
export function lookUp(host: string, environment: Environment): Promise<readonly string[]> {
  if (isIP(host) !== 0) return Promise.resolve([host]);
  const ofEnvironment = lookups.get(environment) ?? new Map<string, Promise<readonly string[]>>();
  lookups.set(environment, ofEnvironment);
  return callOnce(ofEnvironment, host, () => environment.resolve(host));
}

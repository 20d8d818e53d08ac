import { closing } from './closing.mjs';
import { connection } from './connection.mjs';
import { input } from './input.mjs';
import { operations } from './operations.mjs';
import { session } from './session.mjs';
import { watches } from './watches.mjs';

/** @import { Scenario } from '../support/contract.js' */

/**
 * All scenarios, in the order of the rows. Each runs on Conclave and on the bare client, unchanged.
 *
 * @type {readonly Scenario[]}
 */
export const scenarios = [...connection, ...session, ...closing, ...operations, ...watches, ...input].sort(
  (a, b) => Number.parseInt(a.id, 10) - Number.parseInt(b.id, 10) || a.id.localeCompare(b.id),
);

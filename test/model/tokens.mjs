/** The searches of the model of tokens, and their expected results. */
import { fileURLToPath } from 'node:url';
import { breaksPromise, holds } from './questions.mjs';

const NAME = 'tokens';

/** Bounds within which the search visits every state, and everything holds. */
const WHOLE = [
  { writes: 7, losses: 1, again: 0 },
  { writes: 6, losses: 0, again: 1 },
];

/** Smaller bounds, within which the search reaches each statement of the model, and each variant fails. */
const SMALL = { writes: 5, losses: 1, again: 0 };

/** Each variant leaves out one condition on which a heartbeat's zxid may be a token. */
const VARIANTS = [
  breaksPromise(SMALL, 'ANY_HEARTBEAT', 'TOKENS_RISE', 'any heartbeat before the signal gives the token'),
  breaksPromise(SMALL, 'OLD_RECORD', 'TOKENS_RISE', 'the record was read before another leader handed over'),
  breaksPromise(
    SMALL,
    'LATE_HEARTBEAT',
    'TOKENS_RISE',
    'a heartbeat that is answered after the signal counts',
  ),
  breaksPromise(SMALL, 'OLD_HEARTBEAT', 'TOKENS_RISE', 'a heartbeat before the record counts'),
];

/** @type {import('./questions.mjs').Model} */
export const TOKENS = {
  about: 'the order of tokens',
  path: fileURLToPath(new URL('tokens.pml', import.meta.url)),
  bounds: ['writes', 'losses', 'again'],
  all: [...WHOLE.map((bounds) => holds(NAME, bounds, 'much', bounds.losses > 0)), ...VARIANTS],
  quick: [holds(NAME, SMALL, 'some', true), ...VARIANTS],
};

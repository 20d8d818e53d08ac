/**
 * How much is done of what has no natural end: storms, simulated hours. `npm run test:all` sets the variable; CONTRIBUTING.md says what is
 * shorter without it.
 */
export const RUNS_ALL = process.env.CONCLAVE_TESTS === 'all';

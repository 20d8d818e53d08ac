/**
 * How much `npm test` does of what has no natural end: storms, simulated hours, searches, mutants. `npm run test:all` sets the variable.
 * Both run every test; CONTRIBUTING.md says what is shorter in `npm test`.
 */
export const RUNS_ALL = process.env.CONCLAVE_TESTS === 'all';

import { defineConfig } from 'vitest/config';

/** The tests of the units that Stryker changes. They need no server process and no `dist`, and they don't wait. */
export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 60_000, // A test that is merely slow hasn't noticed the mutant.
    include: [
      'test/unit/resolved-options.test.ts',
      'test/unit/{lease,platform,wire}/**/*.test.ts',
      'test/unit/session/{path-protection,watch-registry}.test.ts',
      'test/unit/session/{connection/connect-string,keep-alive/keep-alive,protocol/acl}.test.ts',
      'test/unit/queue/*.test.ts',
      'test/unit/election/{advertised-data,decide-next-step,lost-term-backoff,candidates/*,record/*,requests/*,observer/*,term/*}.test.ts',
      'test/unit/cluster/supervisor/health.test.ts',
    ],
  },
});

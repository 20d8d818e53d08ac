import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/helpers/global-setup.ts'],
    pool: 'forks',
    // The tests wait more than they compute: for notifications, and for sessions to expire.
    maxWorkers: 4,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    coverage: { include: ['src/**/*.ts'], reporter: ['text', 'html'] },
  },
});

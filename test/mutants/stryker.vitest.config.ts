import { defineConfig } from 'vitest/config';

/** The tests of the units that Stryker changes: without a server as a process, without `dist`, without waiting. */
export default defineConfig({
  test: {
    pool: 'forks',
    testTimeout: 60_000, // A test that is merely slow hasn't noticed anything.
    include: [
      'test/unit/{access,admission,advertisement,age,backlog,backoff,claim,connect-string,frames}.test.ts',
      'test/unit/{health,heartbeat,lease,options,order,path-guard,pauses,priority,record,request}.test.ts',
      'test/unit/{resolved-options,sighting,silence,watches}.test.ts',
    ],
  },
});

import { expect } from 'vitest';
import { ElectionSupervisor } from '../../../src/cluster/supervisor/election-supervisor.js';
import type { SessionOptions } from '../../../src/session/session-options.js';
import type { ZooKeeperServer } from '../../../tools/zookeeper/server.mjs';
import { eventAfter } from '../events.js';
import { SILENT } from '../silent-logger.mjs';
import { endsWithTest } from '../vitest/test-end.js';
import { until } from '../waiting.mjs';
import { uniquePath } from './sessions.js';

const LEADS_WITHIN_MS = 40_000;

/** What happens beside the restarts, if anything. */
export interface RollingRestart {
  readonly connect: string;
  readonly session: SessionOptions;
  /** Called while a server is down, with how many were restarted before. */
  beforeStart(restarted: number): Promise<void>;
  /** Called when a server is up again, with how many were restarted. */
  afterStart(restarted: number, supervisor: ElectionSupervisor): Promise<void>;
}

/**
 * Restarts the servers one by one while a supervisor leads. The supervisor never stops, no refusal ends its session, and it leads each time
 * before the next server is restarted.
 */
export async function leadThroughRestarts(
  servers: readonly ZooKeeperServer[],
  { connect, session, beforeStart, afterStart }: RollingRestart,
): Promise<void> {
  const options = { connect, session, cleanup: () => undefined, logger: SILENT };
  const supervisor = endsWithTest(new ElectionSupervisor({ path: uniquePath('election'), ...options }));
  const events: string[] = [];
  supervisor.on('stopped', () => events.push('stopped')).on('error', (error) => events.push(String(error)));
  await eventAfter(supervisor, 'elected', () => supervisor.start());
  for (const [restarted, server] of servers.entries()) {
    await server.stop();
    await beforeStart(restarted);
    await server.start();
    await afterStart(restarted + 1, supervisor);
    const leads = async () => {
      const { state } = await supervisor.session();
      return state.name === 'connected' && supervisor.isLeader;
    };
    await until(
      leads,
      `the term after restart ${restarted + 1}, after ${events.join('; ')}`,
      LEADS_WITHIN_MS,
    );
  }
  expect(events).not.toContain('stopped');
  // As the cause of a NoServerError, a refusal is a failed try. By itself it has ended a session.
  expect(events.filter((each) => each.startsWith('AuthenticationError'))).toEqual([]);
}

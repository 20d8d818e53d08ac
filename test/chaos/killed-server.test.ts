import { describe, expect, it } from 'vitest';
import { isUnanswered } from '../../src/session/operations.js';
import type { Session } from '../../src/session/session.js';
import { ConnectionTracker } from '../support/conclave/connection-tracker.js';
import { openSession } from '../support/conclave/sessions.js';
import { Ensemble } from '../support/servers/ensemble.js';
import { RUNS_ALL } from '../support/vitest/extent.js';
import { until } from '../support/waiting.mjs';

const KILLS = RUNS_ALL ? 50 : 15;
const NODES = 8;
const NODE_BYTES = 40_000;
const READS_AT_ONCE = 16;

/** Keeps so many reads under way while it is on, and counts their outcomes. */
class ReadingLoad {
  readonly #session: Session;
  readonly #paths: readonly string[];
  #on = false;
  started = 0;
  answered = 0;
  /** Reads that failed before the reply, because the connection was lost or the time was over. Both may happen when a server dies. */
  unanswered = 0;
  /** All other outcomes of reads. */
  readonly failures: unknown[] = [];

  constructor(session: Session, paths: readonly string[]) {
    this.#session = session;
    this.#paths = paths;
  }

  get settled(): number {
    return this.answered + this.unanswered + this.failures.length;
  }

  begin(): void {
    this.#on = true;
    for (let reader = 0; reader < READS_AT_ONCE; reader++) void this.#read(); // Never rejects.
  }

  end(): void {
    this.#on = false;
  }

  async #read(): Promise<void> {
    while (this.#on) {
      const path = this.#paths[this.started++ % this.#paths.length] as string;
      try {
        const { data } = await this.#session.getData(path);
        expect(data).toHaveLength(NODE_BYTES);
        this.answered++;
      } catch (error) {
        if (isUnanswered(error)) this.unanswered++;
        else this.failures.push(error);
      }
    }
  }
}

describe('a session with replies of 40 KB under way', () => {
  it(`lives on through ${KILLS} kills of the server that serves it, and every read settles`, async () => {
    const ensemble = await Ensemble.start({ tickMs: 200, syncLimit: 25 });
    const environment = new ConnectionTracker();
    const session = await openSession({ sessionTimeoutMs: 20_000, environment }, ensemble.connectString);
    const paths = Array.from({ length: NODES }, (_, index) => `/node-${index}`);
    for (const path of paths) await session.create(path, { data: Buffer.alloc(NODE_BYTES) });
    await session.create('/own', { mode: 'ephemeral' });
    const load = new ReadingLoad(session, paths);

    for (let kill = 0; kill < KILLS; kill++) {
      const { answered, unanswered } = load;
      load.begin();
      await until(() => load.answered > answered + READS_AT_ONCE, 'a stream of replies');
      const server = environment.serverAmong(ensemble.servers);
      await server.kill();
      const restarted = server.start();
      await until(() => load.unanswered > unanswered, 'the loss of the reads that were under way');
      const { stat } = await session.retryUntilAnswered(() => session.getData('/own'));
      expect(session.owns(stat)).toBe(true);
      // Reads take processor time from the server that starts, and are useless until the next kill.
      load.end();
      await until(() => load.settled === load.started, 'an end to every read');
      // The next kill must leave a majority.
      await restarted;
      await ensemble.allServe();
    }

    expect(load.failures).toEqual([]);
    expect(session.state).toEqual({ name: 'connected' });
    // An uncaught exception would have failed the run.
  }, 240_000);
});

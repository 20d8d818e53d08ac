import { onTestFinished } from 'vitest';
import { Session } from '../../../src/session/session.js';
import { startZooKeeper } from '../../../tools/zookeeper/ensemble.mjs';
import { fourLetterWord } from '../../../tools/zookeeper/four-letter-word.mjs';

/** Long enough that no heartbeat comes while something is counted. */
export const QUIET_SESSION = { sessionTimeoutMs: 600_000 } as const;

/** The packets that a server has received and sent. */
export interface Traffic {
  readonly requests: number;
  /** How often a watch was notified. */
  readonly notifications: number;
}

/** A server of one test file, which counts its traffic. */
export class CountingServer {
  private constructor(
    readonly port: number,
    readonly connectString: string,
    readonly stop: () => Promise<void>,
  ) {}

  /** Its tests share it, one after the other. */
  static async start(): Promise<CountingServer> {
    const settings = { maxSessionTimeout: QUIET_SESSION.sessionTimeoutMs };
    const { servers, connectString, stop } = await startZooKeeper({ settings });
    return new CountingServer(servers[0]?.port as number, connectString, stop);
  }

  /** Sessions that send no heartbeat by themselves for as long as a test takes. All are closed when it has ended. */
  async openSessions(count: number): Promise<Session[]> {
    const sessions = await Promise.all(
      Array.from({ length: count }, () => Session.connect(this.connectString, QUIET_SESSION)),
    );
    onTestFinished(async () => void (await Promise.all(sessions.map((session) => session.close()))));
    return sessions;
  }

  /** How many watches it keeps, of nodes and of their children. */
  async watches(): Promise<number> {
    return Number(/^zk_watch_count\t(\d+)$/m.exec(await fourLetterWord(this.port, 'mntr'))?.[1]);
  }

  /**
   * Counts the traffic while `task` runs, until all requests of these sessions and their notifications have arrived.
   *
   * @param rounds - how many successive requests the task may lead to
   */
  async during(sessions: readonly Session[], task: () => Promise<unknown>, rounds = 1): Promise<Traffic> {
    // The question itself is traffic, too.
    const asking = difference(await this.#counts(), await this.#counts()).requests;
    const before = await this.#counts();
    await task();
    for (let round = 0; round < rounds; round++)
      await Promise.all(sessions.map((session) => session.exists('/')));
    const { requests, notifications } = difference(before, await this.#counts());
    return { requests: requests - asking - rounds * sessions.length, notifications };
  }

  /**
   * Doesn't use the counts of sent packets: a server counts each after it has written it, and the client may have asked for
   * the count by then. The server counts received packets and notified watches before it answers.
   */
  async #counts(): Promise<Traffic> {
    const answer = await fourLetterWord(this.port, 'mntr');
    const read = (name: string) => Number(new RegExp(`^zk_${name}\\t(\\d+)`, 'm').exec(answer)?.[1]);
    const notified = ['created', 'deleted', 'changed', 'children'].map((what) =>
      read(`sum_node_${what}_watch_count`),
    );
    return {
      requests: read('packets_received'),
      notifications: notified.reduce((sum, each) => sum + each, 0),
    };
  }
}

function difference(before: Traffic, after: Traffic): Traffic {
  return {
    requests: after.requests - before.requests,
    notifications: after.notifications - before.notifications,
  };
}

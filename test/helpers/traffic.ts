import { onTestFinished } from 'vitest';
import { fourLetterWord, startZooKeeper } from '../../scripts/zookeeper.mjs';
import { Session } from '../../src/session/session.js';

/** So long that no heartbeat comes while anything is counted. */
export const QUIET_SESSION = { sessionTimeoutMs: 600_000 } as const;

/** What a server has received and sent. */
export interface Traffic {
  readonly requests: number;
  /** What was sent that answers no request. */
  readonly notifications: number;
}

/** A server that nobody else uses, and that counts. */
export class CountingServer {
  readonly port: number;
  readonly connectString: string;

  readonly stop: () => Promise<void>;

  private constructor(port: number, connectString: string, stop: () => Promise<void>) {
    this.port = port;
    this.connectString = connectString;
    this.stop = stop;
  }

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

  /** How many watches it keeps. */
  async watches(): Promise<number> {
    return Number(/Total watches:(\d+)/.exec(await fourLetterWord(this.port, 'wchs'))?.[1]);
  }

  /**
   * What goes to and fro while `task` runs, until all that these sessions had asked and were told by its end has arrived.
   *
   * @param rounds - how many questions, one after the other, what is set off may lead to
   */
  async during(sessions: readonly Session[], task: () => Promise<unknown>, rounds = 1): Promise<Traffic> {
    // Asking is traffic too: one packet in, and as many out as the answer takes.
    const idle = difference(await this.#packets(), await this.#packets());
    const before = await this.#packets();
    await task();
    for (let round = 0; round < rounds; round++)
      await Promise.all(sessions.map((session) => session.exists('/')));
    const { received, sent } = difference(idle, difference(before, await this.#packets()));
    return { requests: received - rounds * sessions.length, notifications: sent - received };
  }

  async #packets(): Promise<Packets> {
    const answer = await fourLetterWord(this.port, 'mntr');
    const read = (name: string) => Number(new RegExp(`^zk_packets_${name}\\t(\\d+)`, 'm').exec(answer)?.[1]);
    return { received: read('received'), sent: read('sent') };
  }
}

interface Packets {
  readonly received: number;
  readonly sent: number;
}

function difference(before: Packets, after: Packets): Packets {
  return { received: after.received - before.received, sent: after.sent - before.sent };
}

import { revokeLeader, Session } from 'conclave';

const EVERY_MS = 100;
const GRACE_MS = 1000;

/** Asks leaders to step down, again and again, over a session of its own. */
export class Revocations {
  #session;
  /** @type {Set<() => void>} */
  #stops = new Set();

  /** @param {Session} session */
  constructor(session) {
    this.#session = session;
  }

  /** @param {string} connect */
  static async open(connect) {
    return new Revocations(await Session.connect(connect));
  }

  /** Asks the leader of an election, ten times a second until {@link close}. @param {string} path */
  repeat(path) {
    let wait = new AbortController();
    const ask = () => {
      // A waiting request reads the leader's node at each change. Without this, earlier ones would read it hundreds of times a second.
      wait.abort();
      wait = new AbortController();
      revokeLeader(this.#session, path, { graceMs: GRACE_MS, signal: wait.signal }).catch(() => undefined);
    };
    const timer = setInterval(ask, EVERY_MS);
    this.#stops.add(() => {
      clearInterval(timer);
      wait.abort();
    });
    ask();
  }

  async close() {
    for (const stop of this.#stops) stop();
    await this.#session.close();
  }
}

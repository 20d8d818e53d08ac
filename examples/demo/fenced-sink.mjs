/**
 * A log over HTTP, which stands for a database that the replicas write to. It is fenced, as everything that a leader writes to
 * should be: it remembers the highest token it has seen and refuses lower ones, and it accepts each entry once.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';

/**
 * @typedef {object} Entry
 * @property {number} sequence the entry's number: the log accepts 0, 1, 2, … in this order
 * @property {string} token the fencing token of the term in which it was written
 * @property {string} by the id of the replica that wrote it
 * @property {string} value
 */

/** The log. `attempts` has all writes, `entries` the accepted ones. */
export class FencedLog {
  /** @type {Entry[]} */
  entries = [];
  /** @type {(Entry & { refused?: string })[]} */
  attempts = [];
  #highestToken = 0n;

  /** A new leader presents its token: from now on lower ones are refused. Returns the number of the next entry.
   * @param {string} token */
  begin(token) {
    const refused = this.#refusal(token);
    return refused === undefined ? { next: this.entries.length } : { refused };
  }

  /** @param {Entry} entry */
  write(entry) {
    const refused =
      this.#refusal(entry.token) ??
      (entry.sequence === this.entries.length ? undefined : `expected entry ${this.entries.length}`);
    this.attempts.push({ ...entry, ...(refused !== undefined && { refused }) });
    if (refused === undefined) this.entries.push(entry);
    return { refused };
  }

  /** @param {string} token */
  #refusal(token) {
    if (BigInt(token) < this.#highestToken) return `the token ${token} is lower than ${this.#highestToken}`;
    this.#highestToken = BigInt(token);
    return undefined;
  }
}

/**
 * Serves a log to other processes.
 *
 * @param {FencedLog} log
 * @param {(entry: Entry, refused: string | undefined) => void} [onWrite]
 */
export async function serveLog(log, onWrite = () => undefined) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const message = JSON.parse(body);
    const answer = request.url === '/begin' ? log.begin(message.token) : log.write(message);
    if (request.url === '/write') onWrite(message, answer.refused);
    response.writeHead(answer.refused === undefined ? 200 : 409, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** A leader's access to the log: every call carries its token. Throws when the log refuses it. */
export class LogClient {
  /**
   * @param {string} url
   * @param {import('conclave').Term} term
   * @param {string} by
   */
  constructor(url, term, by) {
    this.url = url;
    this.term = term;
    this.by = by;
  }

  /** @returns {Promise<number>} the number of the next entry */
  async begin() {
    return (await this.#post('/begin', {})).next;
  }

  /**
   * @param {number} sequence
   * @param {string} value
   */
  async write(sequence, value) {
    this.term.assertHeld(); // Check before you act. The log checks the token for what happens between the two.
    await this.#post('/write', { sequence, value, by: this.by });
  }

  /**
   * @param {string} path
   * @param {object} message
   * @returns {Promise<any>}
   */
  async #post(path, message) {
    const body = JSON.stringify({ ...message, token: String(this.term.token) });
    const response = await fetch(this.url + path, { method: 'POST', body, signal: this.term.signal });
    const answer = /** @type {any} */ (await response.json());
    if (!response.ok) throw new Error(`refused: ${answer.refused}`);
    return answer;
  }
}

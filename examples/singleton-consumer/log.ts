/**
 * A log in place of your database, over HTTP. It is fenced, as everything that a leader writes to should be: it remembers the
 * highest token that it has seen, and refuses lower ones. Entries have numbers, and it accepts each number once, in order.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Term } from 'conclave';

interface Entry {
  readonly number: number;
  readonly by: string;
  readonly value: string;
}

export class FencedLog {
  readonly entries: Entry[] = [];
  #highestToken = 0n;

  /** A new leader's first request: from now on lower tokens are refused. Returns the number of the next entry. */
  begin(token: bigint): number {
    if (token < this.#highestToken) throw new Error(`the token ${token} is lower than ${this.#highestToken}`);
    this.#highestToken = token;
    return this.entries.length;
  }

  write(token: bigint, entry: Entry): void {
    const next = this.begin(token);
    if (entry.number !== next) throw new Error(`expected entry ${next}, not ${entry.number}`);
    this.entries.push(entry);
  }
}

async function answer(log: FencedLog, request: IncomingMessage, response: ServerResponse) {
  try {
    const { token, entry } = (await json(request)) as { token: string; entry?: Entry };
    const next = entry === undefined ? log.begin(BigInt(token)) : log.write(BigInt(token), entry);
    response.end(JSON.stringify({ next }));
  } catch (error) {
    response.writeHead(409).end(String(error));
  }
}

export async function serveLog(log: FencedLog) {
  const server = createServer((request, response) => void answer(log, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Sends a request for this term; without an entry, the first one. Throws if the log refuses it: then another leader has begun. */
export async function post(url: string, term: Term, entry?: Entry): Promise<{ next: number }> {
  term.assertHeld(); // Check before you act. The log checks the token for what happens between the two.
  const body = JSON.stringify({ token: String(term.token), entry });
  const response = await fetch(url, { method: 'POST', body, signal: term.signal });
  if (!response.ok) throw new Error(`refused: ${await response.text()}`);
  return (await response.json()) as { next: number };
}

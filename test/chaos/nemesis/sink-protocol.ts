import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Hand, SinkName } from './history.js';

/**
 * The requests of a worker to a sink. `begin` returns the length of the journal's pages of this hand. With a fence, it keeps former holders out from
 * then on.
 */
export type Question =
  | {
      readonly ask: 'begin';
      readonly sink: SinkName;
      readonly journal: string;
      readonly hand: Hand;
      readonly token: string;
    }
  | {
      readonly ask: 'write';
      readonly sink: SinkName;
      readonly journal: string;
      readonly hand: Hand;
      readonly token: string;
      readonly position: number;
      readonly write: string;
    };

export interface Reply {
  readonly taken: boolean;
  readonly length: number;
}

export type Numbered<T> = T & { readonly number: number };

export function send(socket: Socket, message: Numbered<Question> | Numbered<Reply>): void {
  socket.write(`${JSON.stringify(message)}\n`);
}

export function onMessage<T>(socket: Socket, listener: (message: Numbered<T>) => void): void {
  const lines = createInterface({ input: socket });
  lines.on('line', (line) => listener(JSON.parse(line) as Numbered<T>));
  // It passes the socket's errors on to the owner of the socket, for example when a process at the other end is killed.
  lines.on('error', () => undefined);
}

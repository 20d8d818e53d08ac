import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { SinkName } from './history.js';

/**
 * What a worker asks of a sink. `begin` gives the journal's length; with a fence, it keeps former holders out from
 * there on.
 */
export type Question =
  | { readonly ask: 'begin'; readonly sink: SinkName; readonly journal: string; readonly token: string }
  | {
      readonly ask: 'write';
      readonly sink: SinkName;
      readonly journal: string;
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
  // It hands on the socket's errors, as when a process at the other end is killed, to the owner of the socket.
  lines.on('error', () => undefined);
}

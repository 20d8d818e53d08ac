import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { onMessage, type Question, type Reply, send } from './sink-protocol.js';

/** A worker's connection to the sinks. It is never cut: the sinks aren't under test. */
export class SinkClient {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #asked = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    onMessage<Reply>(socket, ({ number, ...reply }) => {
      this.#waiting.get(number)?.(reply);
      this.#waiting.delete(number);
    });
  }

  static async open(path: string): Promise<SinkClient> {
    const socket = connect(path);
    await once(socket, 'connect');
    return new SinkClient(socket);
  }

  ask(question: Question): Promise<Reply> {
    const number = ++this.#asked;
    send(this.#socket, { number, ...question });
    return new Promise((resolve) => this.#waiting.set(number, resolve));
  }

  close(): void {
    this.#socket.destroy();
  }
}

/**
 * The resource to which the workers write: for each election and each lock a journal with a fence and one without, in a
 * process of its own that has no faults. Arguments: the path of its socket, the history.
 */
import { createServer } from 'node:net';
import { type Hand, History, type SinkName } from './history.js';
import { onMessage, type Question, type Reply, send } from './sink-protocol.js';

const [socketPath = '', historyPath = ''] = process.argv.slice(2);
const history = new History(historyPath);

/** The state of one journal at one of the sinks. The checker learns from the history which writes it has taken. */
class Pages {
  readonly #lengths: Record<Hand, number> = { main: 0, thread: 0 };
  #fence = -1n;
  readonly #sink: SinkName;
  readonly #journal: string;

  constructor(sink: SinkName, journal: string) {
    this.#sink = sink;
    this.#journal = journal;
  }

  answer(question: Question): Reply {
    const token = BigInt(question.token);
    if (this.#sink === 'fenced' && token < this.#fence) return this.#refuse(question);
    if (token > this.#fence) this.#fence = token;
    if (question.ask === 'write') this.#take(question);
    return { taken: true, length: this.#lengths[question.hand] };
  }

  #take({ hand, position, write, token }: Question & { ask: 'write' }): void {
    // The earlier content is overwritten, so a writer that isn't alone does harm.
    this.#lengths[hand] = position + 1;
    history.write({ kind: 'taken', sink: this.#sink, journal: this.#journal, hand, token, position, write });
  }

  #refuse({ hand, token }: Question): Reply {
    const highest = String(this.#fence);
    history.write({ kind: 'refused', sink: this.#sink, journal: this.#journal, token, highest });
    return { taken: false, length: this.#lengths[hand] };
  }
}

const pages = new Map<string, Pages>();

function pagesOf({ sink, journal }: Question): Pages {
  const name = `${sink} ${journal}`;
  const known = pages.get(name) ?? new Pages(sink, journal);
  pages.set(name, known);
  return known;
}

const server = createServer((socket) => {
  socket.on('error', () => socket.destroy());
  onMessage<Question>(socket, (question) => {
    send(socket, { number: question.number, ...pagesOf(question).answer(question) });
  });
});
server.listen(socketPath, () => process.send?.('ready'));
process.on('disconnect', () => process.exit());

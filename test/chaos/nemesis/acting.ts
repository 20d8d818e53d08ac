import { type Hand, type History, now, type SinkName } from './history.js';
import type { SinkClient } from './sink-client.js';

/** A term or a hold, which is asked before each act. */
export interface Held {
  readonly token: bigint;
  isHeld(): boolean;
}

/** The actor, and where its acts are written down. */
export interface Actor {
  readonly who: string;
  readonly journal: string;
  readonly history: History;
  readonly sink: SinkClient;
  /** Which thread of the process acts: each writes to pages of its own, behind the same fence. */
  readonly hand: Hand;
  /** Called for each act that begins. */
  readonly onAct: () => void;
  /** A name for a write, unique among all writes of all processes. */
  nextWrite(): string;
}

/** Acts for as long as something is held: each time it asks, writes down the answer, and writes to both sinks. */
export class Acting {
  readonly #actor: Actor;
  readonly #held: Held;
  readonly #positions: Record<SinkName, number>;

  private constructor(actor: Actor, held: Held, positions: Record<SinkName, number>) {
    this.#actor = actor;
    this.#held = held;
    this.#positions = positions;
  }

  /** Takes over the journals where the former holder left them. `undefined` if the fence has risen above this token. */
  static async begin(actor: Actor, held: Held): Promise<Acting | undefined> {
    const ask = (sink: SinkName) =>
      actor.sink.ask({
        ...{ ask: 'begin', sink, journal: actor.journal, hand: actor.hand },
        token: String(held.token),
      });
    const [fenced, open] = await Promise.all([ask('fenced'), ask('open')]);
    return fenced.taken ? new Acting(actor, held, { fenced: fenced.length, open: open.length }) : undefined;
  }

  /** Acts once, if it may. Returns whether another act may follow. */
  async act(): Promise<boolean> {
    if (!this.ask()) return false;
    this.#actor.onAct();
    const write = this.#actor.nextWrite();
    const taken = await Promise.all([this.#write('fenced', write), this.#write('open', write)]);
    return taken.every(Boolean);
  }

  /** Asks, and writes the answer down, before it acts by this answer. */
  ask(): boolean {
    const at = now();
    const isHeld = this.#held.isHeld();
    const until = now();
    const { history, who, journal, hand } = this.#actor;
    const kind = isHeld ? 'held' : 'not held';
    history.write({ kind, who, journal, hand, token: String(this.#held.token), until }, at);
    return isHeld;
  }

  async #write(sink: SinkName, write: string): Promise<boolean> {
    const { history, who, journal, hand } = this.#actor;
    const position = this.#positions[sink]++;
    const token = String(this.#held.token);
    const { taken } = await this.#actor.sink.ask({
      ...{ ask: 'write', sink, journal, hand, token, position, write },
    });
    history.write({ kind: 'answer', who, sink, journal, write, taken });
    return taken;
  }
}

import { NoNodeError } from '../errors.js';
import { queueOf } from '../lock/order.js';
import type { Session } from '../session/session.js';
import { type Candidate, parseCandidate } from './candidate.js';
import { parseRecord } from './record.js';

/** Who stands in an election and who leads it, as far as the servers know. Reads only. */
export class Roll {
  readonly #session: Session;
  readonly #path: string;

  constructor(session: Session, path: string) {
    this.#session = session;
    this.#path = path;
  }

  /** The candidates, in the order in which they will lead; none if there is no such election. */
  async candidates(): Promise<Candidate[]> {
    const children = await this.#read(() => this.#session.getChildren(this.#path));
    const candidates = queueOf(children ?? []).map(async (entry, position) => {
      const node = await this.#read(() => this.#session.getData(`${this.#path}/${entry.node}`));
      return node === undefined ? undefined : parseCandidate(entry, position, node.data);
    });
    return (await Promise.all(candidates)).filter((candidate) => candidate !== undefined);
  }

  /** Who holds the current term by the record and is still there; `undefined` if nobody is. */
  async leader(): Promise<Candidate | undefined> {
    const node = await this.#read(() => this.#session.getData(this.#path));
    const record = node === undefined ? undefined : parseRecord(node.data);
    if (record?.state !== 'held') return undefined;
    return (await this.candidates()).find((candidate) => candidate.node === record.node);
  }

  /** `undefined` for what isn't there, or isn't any more. */
  async #read<T>(operation: () => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#session.untilAnswered(operation);
    } catch (error) {
      if (error instanceof NoNodeError) return undefined;
      throw error;
    }
  }
}

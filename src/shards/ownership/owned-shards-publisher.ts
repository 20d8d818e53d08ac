import { NodeExistsError, NoNodeError, ZooKeeperError } from '../../errors.js';
import { type Abortable, onAbort } from '../../platform/async/lazy-abort-controller.js';
import { nextTick } from '../../platform/time/timers.js';
import { LostRequest } from '../../session/connection/connection-end.js';
import { isUnanswered } from '../../session/operations.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { serializeOwned } from '../stored/data-formats.js';

/** What a publisher publishes, and where. */
export interface PublisherOptions {
  readonly session: Session;
  /** Of the member's publication. */
  readonly path: string;
  /** Aborts when the member's node is gone: what it owned is others' by then, or will be. */
  readonly lost: Abortable;
  /** The numbers of the shards whose records name the member, as far as it knows at this moment. */
  numbers(): readonly number[];
  /** A server refuses a publication. Called once, until one is taken again. */
  onError(error: unknown): void;
}

/** What the node says, as far as it is known. `none`: it doesn't exist. `unknown`: a write wasn't answered, or was refused. */
type Said = Buffer | 'none' | 'unknown';

/** At most one publication is on its way, so the servers have them in the order in which they were made. */
type PublisherState =
  | { readonly name: 'idle'; readonly said: Said }
  | { readonly name: 'writing' }
  | { readonly name: 'ended' };

const MOST_BYTES = 200_000; // Beside 256 records in a transaction, of which ZooKeeper takes 1 MB.

/**
 * Publishes which shards a member owns. Observers read that, and so may the planner, in place of the records (`planner/planner-snapshot.ts`).
 * A publication informs, and nothing else: the records say who owns what, and no claim reads a publication.
 */
export class OwnedShardsPublisher {
  readonly #options: PublisherOptions;
  #state: PublisherState = { name: 'idle', said: 'none' };
  #isDue = false;
  #isRefused = false;

  constructor(options: PublisherOptions) {
    this.#options = options;
    onAbort(options.lost, () => this.stop());
  }

  /** The numbers may have changed. It publishes all changes of one turn of the event loop together. */
  changed(): void {
    if (this.#isDue || this.#state.name === 'ended') return;
    this.#isDue = true;
    nextTick(() => {
      this.#isDue = false;
      this.#publish();
    });
  }

  /**
   * Carries out a transaction that changes what the member owns, with the publication as one more part of it: so a change needs no
   * write of its own. Without it while another publication is on its way, or if this one is too long for that, or if the servers refuse
   * it; then it follows by itself.
   * @param numbers - what the member owns when the transaction is carried out
   * @param commit - called once more, with no part, if the publication is refused
   * @throws what `commit` throws
   */
  async accompany<T>(
    numbers: readonly number[],
    commit: (parts: readonly TransactionPart[]) => Promise<T>,
  ): Promise<T> {
    const state = this.#state;
    if (state.name !== 'idle' || state.said === 'unknown') return await commit([]);
    const data = serializeOwned(numbers);
    if (data.length > MOST_BYTES) return await commit([]);
    const { path, session } = this.#options;
    const isNew = state.said === 'none';
    const part: TransactionPart = isNew
      ? { kind: 'create', path, mode: 'ephemeral', data }
      : { kind: 'set', path, data };
    this.#become({ name: 'writing' });
    try {
      const result = await commit([part]);
      this.#settle(data);
      return result;
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) {
        this.#settle('unknown');
        throw error;
      }
      const isOther = error.path !== session.absolute(path);
      this.#settle(isOther ? state.said : 'unknown'); // All parts are refused, or none.
      if (isOther) throw error;
    }
    return await commit([]);
  }

  /** Publishes nothing more, and repeats no write that is on its way. The node stays. */
  stop(): void {
    this.#become({ name: 'ended' });
  }

  #publish(): void {
    if (this.#state.name !== 'idle') return;
    const { said } = this.#state;
    const numbers = this.#options.numbers();
    const isSaid =
      said === 'none' ? numbers.length === 0 : said !== 'unknown' && said.equals(serializeOwned(numbers));
    if (!isSaid) void this.#write(said); // Never rejects.
  }

  async #write(said: Said): Promise<void> {
    this.#become({ name: 'writing' });
    try {
      const written = await this.#put(said);
      this.#isRefused = false;
      this.#settle(written);
    } catch (error) {
      this.#become({ name: 'idle', said: 'unknown' }); // It is tried again at the next change.
      const { lost, session, onError } = this.#options;
      if (this.#state.name === 'ended' || this.#isRefused || lost.aborted || session.ended.aborted) return;
      this.#isRefused = true;
      onError(error);
    }
  }

  /** @throws a server's refusal, RequestTooLargeError, what ended the session, or why the member's node is gone */
  async #put(before: Said): Promise<Said> {
    const { session, path, lost } = this.#options;
    const request = new LostRequest();
    for (let said = before; this.#state.name === 'writing'; ) {
      const data = serializeOwned(this.#options.numbers());
      try {
        if (said === 'none') await session.create(path, { mode: 'ephemeral', data });
        else await session.setData(path, data);
        return data;
      } catch (error) {
        if (error instanceof NodeExistsError) said = 'unknown';
        else if (error instanceof NoNodeError && said !== 'none') said = 'none';
        else if (isUnanswered(error)) {
          request.countLoss(error);
          said = 'unknown';
          await session.whenConnected(lost);
        } else throw error;
      }
    }
    return 'unknown';
  }

  /** None is on its way any more. */
  #settle(said: Said): void {
    this.#become({ name: 'idle', said });
    this.changed(); // It may have changed meanwhile.
  }

  /** The only place that writes the state. */
  #become(next: PublisherState): void {
    if (this.#state.name !== 'ended') this.#state = next;
  }
}

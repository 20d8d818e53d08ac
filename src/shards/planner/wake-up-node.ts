import { NodeExistsError } from '../../errors.js';
import type { Timer } from '../../platform/time/clock.js';
import { NodeWatch } from '../../session/node-watch.js';
import { isUnanswered } from '../../session/operations.js';
import type { Session } from '../../session/session.js';

/** Listens to a {@link Hint}. */
export interface HintListener {
  /** The node has changed since it was read first. */
  onChange(): void;
  /** The node can't be watched now. It is tried again. */
  onError(error: unknown): void;
}

/**
 * - `watching`: the node is watched, or about to be.
 * - `pausing`: it was deleted, or a server refused: in a lease it is made if it is missing, and watched again.
 * - `making`: that has begun.
 */
type State =
  | { readonly name: 'watching'; readonly watch: NodeWatch }
  | { readonly name: 'pausing'; readonly timer: Timer }
  | { readonly name: 'making' }
  | { readonly name: 'stopped' };

/**
 * Watches a persistent node of the group that is written when the planner has something to read. Deleted by another client, it is
 * made anew: a session has no watch for a node's return, but one for each path.
 */
export class Hint {
  readonly #session: Session;
  readonly #path: string;
  readonly #listener: HintListener;
  #state: State;
  /** It was told that the node can't be watched, and hasn't been read since. */
  #hasFailed = false;

  constructor(session: Session, path: string, listener: HintListener) {
    this.#session = session;
    this.#path = path;
    this.#listener = listener;
    this.#state = this.#watching(false);
  }

  stop(): void {
    if (this.#state.name === 'watching') this.#state.watch.stop();
    if (this.#state.name === 'pausing') this.#state.timer.clear();
    this.#state = { name: 'stopped' };
  }

  /** @param isNews - whether the first read shows a change, too: the node may have been written while it wasn't watched */
  #watching(isNews: boolean): State {
    let tells = isNews;
    const read = () => {
      this.#hasFailed = false;
      if (tells) this.#listener.onChange();
      tells = true;
    };
    const gone = () => {
      this.#pause();
      this.#listener.onChange();
    };
    const watch = new NodeWatch(this.#session, this.#path, {
      read,
      gone,
      failed: (error) => this.#failed(error),
    });
    return { name: 'watching', watch };
  }

  #failed(error: unknown): void {
    if (this.#state.name === 'stopped' || this.#session.ended.aborted) return;
    if (!this.#hasFailed && !isUnanswered(error)) {
      this.#hasFailed = true;
      this.#listener.onError(error);
    }
    this.#pause();
  }

  #pause(): void {
    const { clock, leaseMs } = this.#session;
    this.#state = { name: 'pausing', timer: clock.after(leaseMs, () => void this.#make()) }; // Never rejects.
  }

  /** Without its parents: with them a group that an operator deletes would be there again. */
  async #make(): Promise<void> {
    const making: State = { name: 'making' };
    this.#state = making;
    try {
      await this.#session.create(this.#path);
    } catch (error) {
      if (this.#state !== making) return;
      if (!(error instanceof NodeExistsError)) return this.#failed(error);
    }
    if (this.#state === making) this.#state = this.#watching(true);
  }
}

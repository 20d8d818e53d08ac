import type { Abortable, Ending } from '../ending.js';
import { NoNodeError } from '../errors.js';
import { abortable, deferred, endingWith, ignore } from '../promises.js';
import type { Change } from '../session/protocol.js';
import type { Session } from '../session/session.js';
import type { QueueEntry } from './order.js';

/**
 * Resolves when there is no such node, or it says what `yields` accepts.
 *
 * @throws the signal's reason, what ended the session, or a `ZooKeeperError` if a server refuses
 */
export async function untilGone(
  session: Session,
  path: string,
  signal: Abortable,
  yields?: (data: Buffer) => boolean,
): Promise<'gone' | 'yields'> {
  // Nobody tells of a change any more when the session is over.
  const { ending: over, forget } = endingWith(signal, session.over);
  try {
    for (;;) {
      // Reading and watching in one request: no deletion goes unnoticed between the two.
      const changed = deferred<Change>();
      const read = () => session.watchData(path, changed.resolve, over);
      const { data } = await session.untilAnswered(read, over);
      if (yields?.(data)) return 'yields';
      // A name is used once: what has been deleted doesn't come back, and needn't be read again.
      if ((await abortable(changed.promise, over)) === 'deleted') return 'gone';
    }
  } catch (error) {
    if (error instanceof NoNodeError) return 'gone';
    throw error;
  } finally {
    forget();
    over.abort(undefined); // Takes the watch back.
  }
}

/** Keeps an eye on some nodes of a queue, each with one watch for as long as it is of interest. */
export class Vigil {
  readonly #session: Session;
  readonly #queue: string;
  readonly #yields: ((data: Buffer) => boolean) | undefined;
  readonly #over: Ending;
  readonly #forget: () => void;
  readonly #watched = new Map<string, Promise<void>>();
  readonly #yielded = new Set<string>();

  /** @param signals - end it when one of them aborts */
  constructor(
    session: Session,
    queue: string,
    yields: ((data: Buffer) => boolean) | undefined,
    signals: readonly (Abortable | undefined)[],
  ) {
    this.#session = session;
    this.#queue = queue;
    this.#yields = yields;
    const { ending, forget } = endingWith(...signals);
    this.#over = ending;
    this.#forget = forget;
  }

  /** Whether it is there and was seen to stand in nobody's way any more. */
  hasYielded({ node }: QueueEntry): boolean {
    return this.#yielded.has(node);
  }

  /** Resolves when one of these is gone, or doesn't stand in the way any more. @throws as {@link untilGone} does */
  async untilOneLess(entries: readonly QueueEntry[]): Promise<void> {
    await Promise.race(entries.map(({ node }) => this.#watch(node)));
  }

  /** Takes all watches back. */
  end(): void {
    this.#forget();
    this.#over.abort(undefined);
  }

  #watch(node: string): Promise<void> {
    const known = this.#watched.get(node);
    if (known !== undefined) return known;
    const watching = untilGone(this.#session, `${this.#queue}/${node}`, this.#over, this.#yields).then(
      (how) => {
        this.#watched.delete(node);
        if (how === 'yields') this.#yielded.add(node);
      },
    );
    watching.catch(ignore); // Whoever waits for one of them sees it.
    this.#watched.set(node, watching);
    return watching;
  }
}

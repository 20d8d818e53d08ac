import { NoNodeError } from '../errors.js';
import { abortable, deferred, ignore } from '../promises.js';
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
  signal: AbortSignal,
  yields?: (data: Buffer) => boolean,
): Promise<'gone' | 'yields'> {
  const done = new AbortController();
  const over = AbortSignal.any([signal, done.signal]);
  try {
    for (;;) {
      // Reading and watching in one request: no deletion goes unnoticed between the two.
      const changed = deferred<boolean>();
      const read = () => session.getData(path, { onChange: changed.resolve, signal: over });
      const { data } = await session.untilAnswered(read, over);
      if (yields?.(data)) return 'yields';
      // No number is given twice to the same name, so what was deleted doesn't come back.
      if (await abortable(changed.promise, over)) return 'gone';
    }
  } catch (error) {
    if (error instanceof NoNodeError) return 'gone';
    throw error;
  } finally {
    done.abort();
  }
}

/** Keeps an eye on some nodes of a queue, each with one watch for as long as it is of interest. */
export class Vigil {
  readonly #session: Session;
  readonly #queue: string;
  readonly #yields: ((data: Buffer) => boolean) | undefined;
  readonly #over = new AbortController();
  readonly #signal: AbortSignal;
  readonly #watched = new Map<string, Promise<void>>();
  readonly #yielded = new Set<string>();

  /** @param signals - end it when one of them aborts */
  constructor(
    session: Session,
    queue: string,
    yields: ((data: Buffer) => boolean) | undefined,
    signals: AbortSignal[],
  ) {
    this.#session = session;
    this.#queue = queue;
    this.#yields = yields;
    this.#signal = AbortSignal.any([this.#over.signal, ...signals]);
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
    this.#over.abort();
  }

  #watch(node: string): Promise<void> {
    const known = this.#watched.get(node);
    if (known !== undefined) return known;
    const watching = untilGone(this.#session, `${this.#queue}/${node}`, this.#signal, this.#yields).then(
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

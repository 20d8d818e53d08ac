import { InvalidOptionError, InvalidStateError } from '../errors.js';
import { WorkContext, workContexts } from '../platform/async/work-context.js';
import type { HeldTerm } from './held-term.js';

/** By the term: the path, with the chroot, of the election or of the shard's record. */
const paths = new WeakMap<object, string>();

/** @internal The context of a term's work. */
export class TermContext extends WorkContext {
  readonly term: HeldTerm;

  /** @param path - with the chroot: of the election, or of the shard's record */
  constructor(term: HeldTerm, path: string) {
    super();
    this.term = term;
    paths.set(term, path);
  }
}

/** @internal What the holder of a token holds: the path of an election, or of a shard's record. `undefined` if it isn't a term. */
export function heldIn(holder: object): string | undefined {
  return paths.get(holder);
}

/**
 * The term for which the caller runs: in `lead`, in listeners of `elected`, in a shard's `run`, in a function given to `waitUntil` or
 * {@link withTerm}, and in all code that these begin. Of nested terms, the innermost. It is the object that `lead` got.
 *
 * Guaranteed: the caller belongs to the work of this term. Not guaranteed: that the term is still held. Ask `isHeld()` as always.
 *
 * @throws InvalidStateError outside the work of any term, and after all work of the term has settled
 *
 * @example
 * ```ts
 * async function save(value) {
 *   await store.write(value, { fence: currentTerm().token }); // However deep below `lead`.
 * }
 * ```
 */
export function currentTerm(): HeldTerm {
  const context = workContexts().find((each) => each instanceof TermContext);
  if (context !== undefined) return context.term;
  const where =
    'in `lead`, in the `run` of a shard, in listeners of `elected`, and in functions given to `waitUntil` or `withTerm`';
  throw new InvalidStateError(
    `no term's work calls currentTerm() here: there is one ${where}, until that work has settled`,
  );
}

/**
 * Calls `work` as work of `term`, and settles as `work` does. The term isn't released before the work has settled, and
 * {@link currentTerm} returns the term in all code that the work begins. A rejection goes to the caller alone: unlike one of `waitUntil`,
 * it causes no `error` event.
 *
 * The work may call `resign()`, `drain()` or `stop()` and wait for it.
 *
 * @throws the reason of the term's signal, `TermEndedError` or `ShardEndedError`, unless the term is held. Then `work` isn't called.
 *   InvalidOptionError unless `term` is a term and `work` a function
 */
export async function withTerm<T>(term: HeldTerm, work: (term: HeldTerm) => T | PromiseLike<T>): Promise<T> {
  if (typeof term?.waitUntil !== 'function')
    throw new InvalidOptionError('term', term, 'a term that `lead` or `currentTerm()` gave');
  if (typeof work !== 'function') throw new InvalidOptionError('work', work, 'a function');
  term.assertHeld();
  return new Promise<T>((resolve, reject) => {
    term.waitUntil(async () => {
      try {
        term.assertHeld(); // Other code ran since the call.
        resolve(await work(term));
      } catch (error) {
        reject(error);
      }
    });
  });
}

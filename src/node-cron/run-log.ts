import type { Term } from '../election/term/term.js';
import {
  BadVersionError,
  ConnectionLossError,
  NodeExistsError,
  NoNodeError,
  OperationTimeoutError,
  TermEndedError,
} from '../errors.js';
import { abortable } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import type { Session } from '../session/session.js';
import { isDue, type LastRun, nodeNameOf, parseLastRun, type Slot, serializeLastRun } from './slot.js';

/** A node as it was last seen. */
interface Seen {
  readonly version: number;
  readonly last: LastRun | undefined;
}

/**
 * Which firing of each task was run last, in ZooKeeper: a node for each task. It is written before the run, and only while
 * the term lasts, so that a firing is run once at most, by whichever leader, whatever the clocks of their hosts say.
 */
export class RunLog {
  readonly #path: string;
  readonly #logger: Logger;
  /** What each term knows of the nodes: only its own leader writes them. */
  readonly #seen = new WeakMap<Term, Map<string, Seen>>();

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /**
   * Notes that `slot` is run in `term`. `false`: it isn't to be run, because that has been done, or the term is over.
   *
   * @throws ZooKeeperError if a server refuses, SessionExpiredError, SessionClosedError if the session ends
   */
  async note(slot: Slot, term: Term, session: Session): Promise<boolean> {
    const path = `${this.#path}/${nodeNameOf(slot.task)}`;
    const run: LastRun = { at: slot.at, note: session.environment.uuid() };
    try {
      while (!(await this.#write(path, run, slot, term, session))) {
        const seen = await this.#look(path, term, session);
        if (seen?.last?.note === run.note) return true; // The reply was lost, and it was carried out.
      }
      return true;
    } catch (error) {
      if (error instanceof Done || error instanceof TermEndedError) return false;
      throw error;
    }
  }

  /** `false`: look, and try again. */
  async #write(path: string, run: LastRun, slot: Slot, term: Term, session: Session): Promise<boolean> {
    const seenOf = this.#seenOf(term);
    const seen = seenOf.get(path) ?? (await this.#look(path, term, session));
    this.#checkDue(slot, seen?.last);
    const data = serializeLastRun(run, term.token);
    const transaction = term.transaction();
    if (seen === undefined) transaction.create(path, data);
    else transaction.setData(path, data, seen.version);
    try {
      await abortable(transaction.commit(), term.signal);
    } catch (error) {
      seenOf.delete(path);
      if (canBeTriedAgain(error)) return false;
      throw error;
    }
    seenOf.set(path, { version: seen === undefined ? 0 : seen.version + 1, last: run });
    return true;
  }

  #checkDue(slot: Slot, last: LastRun | undefined): void {
    const verdict = isDue(slot, last);
    if (verdict === 'done') throw new Done();
    if (verdict === 'due') return;
    this.#logger.warn(
      { task: slot.task, at: slot.at, lastAt: last?.at },
      'the last run of a task lies in the future',
    );
  }

  async #look(path: string, term: Term, session: Session): Promise<Seen | undefined> {
    let seen: Seen | undefined;
    try {
      const { data, stat } = await session.retryUntilAnswered(() => session.getData(path), term.signal);
      seen = { version: stat.version, last: parseLastRun(data) };
      this.#seenOf(term).set(path, seen);
    } catch (error) {
      if (!(error instanceof NoNodeError)) throw error;
      await abortable(session.ensurePath(this.#path), term.signal);
    }
    return seen;
  }

  #seenOf(term: Term): Map<string, Seen> {
    const known = this.#seen.get(term) ?? new Map<string, Seen>();
    this.#seen.set(term, known);
    return known;
  }
}

/** The slot needn't be run any more. Never seen outside. */
class Done extends Error {}

/** Somebody else wrote, or the reply was lost: what is there will tell. */
function canBeTriedAgain(error: unknown): boolean {
  return [BadVersionError, NodeExistsError, NoNodeError, ConnectionLossError, OperationTimeoutError].some(
    (type) => error instanceof type,
  );
}

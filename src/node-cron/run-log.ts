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
import { type Firing, isDue, type LastRun, nodeNameOf, parseLastRun, serializeLastRun } from './firing.js';

/** A node as this leader has read or written it last. */
interface KnownNode {
  readonly version: number;
  readonly last: LastRun | undefined;
}

/**
 * Keeps in ZooKeeper the last firing of each task that a process has run: one node for each task. The leader writes the node before the
 * run, and only during its term. So all leaders together run a firing once at most, even if the clocks of their hosts differ.
 */
export class RunLog {
  readonly #path: string;
  readonly #logger: Logger;
  /** The known nodes of each term. They stay known, because only the term's leader writes them. */
  readonly #known = new WeakMap<Term, Map<string, KnownNode>>();

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /**
   * Reserves `firing` for `term`. Returns `false` if the firing must not run, because it ran before or the term has ended.
   * @param expression - the task's expression, if known. With it a later leader sees whether the expression has changed.
   * @throws ZooKeeperError if a server refuses
   * @throws SessionExpiredError, SessionClosedError if the session ends
   */
  async reserve(firing: Firing, term: Term, session: Session, expression?: string): Promise<boolean> {
    const path = this.#pathOf(firing.task);
    const id = session.environment.uuid();
    const run: LastRun = expression === undefined ? { at: firing.at, id } : { at: firing.at, id, expression };
    try {
      while (!(await this.#write(path, run, firing, term, session))) {
        const node = await this.#read(path, term, session);
        if (node?.last?.id === run.id) return true; // The write was carried out, and its reply was lost.
      }
      return true;
    } catch (error) {
      if (error instanceof NotDue || error instanceof TermEndedError) return false;
      throw error;
    }
  }

  /**
   * The last firing of `task` that a process has run; `undefined` if there is none.
   * @throws TermEndedError if the term ends meanwhile, and the errors of {@link reserve}
   */
  async lastRun(task: string, term: Term, session: Session): Promise<LastRun | undefined> {
    const path = this.#pathOf(task);
    return (this.#knownIn(term).get(path) ?? (await this.#read(path, term, session)))?.last;
  }

  #pathOf(task: string): string {
    return `${this.#path}/${nodeNameOf(task)}`;
  }

  /** Returns `false` if the node must be read again. */
  async #write(path: string, run: LastRun, firing: Firing, term: Term, session: Session): Promise<boolean> {
    const known = this.#knownIn(term);
    const node = known.get(path) ?? (await this.#read(path, term, session));
    this.#checkDue(firing, node?.last);
    const data = serializeLastRun(run, term.token);
    const transaction = term.transaction();
    if (node === undefined) transaction.create(path, data);
    else transaction.setData(path, data, node.version);
    try {
      await abortable(transaction.commit(), term.signal);
    } catch (error) {
      known.delete(path);
      if (canBeTriedAgain(error)) return false;
      throw error;
    }
    known.set(path, { version: node === undefined ? 0 : node.version + 1, last: run });
    return true;
  }

  #checkDue(firing: Firing, last: LastRun | undefined): void {
    const due = isDue(firing, last);
    if (due === 'done') throw new NotDue();
    if (due === 'due') return;
    this.#logger.warn(
      { task: firing.task, at: firing.at, lastAt: last?.at },
      'the last run of a task is in the future',
    );
  }

  async #read(path: string, term: Term, session: Session): Promise<KnownNode | undefined> {
    let node: KnownNode | undefined;
    try {
      const { data, stat } = await session.retryUntilAnswered(() => session.getData(path), term.signal);
      node = { version: stat.version, last: parseLastRun(data) };
      this.#knownIn(term).set(path, node);
    } catch (error) {
      if (!(error instanceof NoNodeError)) throw error;
      await abortable(session.ensurePath(this.#path), term.signal);
    }
    return node;
  }

  #knownIn(term: Term): Map<string, KnownNode> {
    const known = this.#known.get(term) ?? new Map<string, KnownNode>();
    this.#known.set(term, known);
    return known;
  }
}

/** The firing ran before. This error never leaves this file. */
class NotDue extends Error {}

/** After these errors either another client has written the node, or the reply was lost. A read shows which. */
function canBeTriedAgain(error: unknown): boolean {
  return [BadVersionError, NodeExistsError, NoNodeError, ConnectionLossError, OperationTimeoutError].some(
    (type) => error instanceof type,
  );
}

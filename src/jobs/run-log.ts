import type { Term } from '../election/term/term.js';
import { NoNodeError, SessionClosedError, SessionExpiredError } from '../errors.js';
import type { GuardedTransaction } from '../lease/guarded-transaction.js';
import { abortable, abortableLate, ignore } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import { dateAt } from '../platform/time/timers.js';
import { isUnanswered } from '../session/operations.js';
import type { Session } from '../session/session.js';
import { isOutdated } from '../session/versioned-records.js';
import { type Due, jobNodeNameOf, type LastRun, parseLastRun, serializeLastRun } from './last-run.js';

/** A node as this leader has read or written it last. */
interface KnownNode {
  readonly version: number;
  readonly last: LastRun | undefined;
}

/** A leader, and the session that holds its term. */
export interface Leader {
  readonly term: Term;
  readonly session: Session;
}

// After the end of the term, the outcome of a write still matters: a note without a run is taken back. Servers answer sooner.
const OUTCOME_WITHIN_MS = 2000;

/** The child of an election below which the runs of its jobs are noted, unless they were given another path. */
export const RUN_LOG = 'cron';

/** The path of an election's run log, unless its jobs were given another one. */
export function runLogOf(election: string): string {
  return `${election}/${RUN_LOG}`;
}

/**
 * Keeps in ZooKeeper the last firing of each job that a process has run: one node for each job. The leader writes the node before the
 * run, and only during its term. So all leaders together run a firing once at most, even if the clocks of their hosts differ.
 */
export class RunLog {
  readonly #path: string;
  readonly #logger: Logger;
  /** The known nodes of each term. They stay known, because only the term's leader writes them. */
  readonly #known = new WeakMap<Term, Map<string, KnownNode | undefined>>();
  /** The runs whose notes the servers may have written without an answer. */
  readonly #unanswered = new WeakSet<LastRun>();

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /**
   * Notes a firing, and then calls `begin`. Returns its result, or `undefined` if the firing isn't due. Call it in the work of the term,
   * so that the term lasts until it knows whether `begin` is called.
   *
   * If the term ends between the note and `begin`, the note is taken back, so that the next leader runs the firing.
   *
   * @param due - whether the firing must run after that last run
   * @param mark - given for a run that a later leader may repeat
   * @throws the reason of the term's signal if the term ends before `begin`
   * @throws ZooKeeperError if a server refuses
   * @throws SessionExpiredError, SessionClosedError if the session ends
   */
  async begin<T extends object>(
    { job, at }: Pick<LastRun, 'at'> & { readonly job: string },
    leader: Leader,
    { due, mark }: { due: (last: LastRun | undefined) => Due; mark?: Pick<LastRun, 'open' | 'attempts'> },
    begin: () => T,
  ): Promise<T | undefined> {
    const { term } = leader;
    const path = this.#pathOf(job);
    const run = { ...newRun(at, leader), ...mark };
    let before: KnownNode | undefined;
    try {
      for (;;) {
        const node = await this.#node(path, leader);
        if (node?.last?.id === run.id) break; // The write was carried out, and its reply was lost.
        before = node;
        const answer = due(node?.last);
        if (answer === 'done') return undefined;
        if (answer !== 'due')
          this.#logger.warn({ job, at, lastAt: node?.last?.at }, 'the last run of a job is in the future');
        if (await this.#write(path, run, node, leader)) break;
      }
    } catch (error) {
      if (this.#unanswered.has(run))
        this.#logger.warn(
          { job, at: dateAt(at) },
          'a firing may be lost: the term ended before the servers answered to its note',
        );
      throw error;
    }
    if (term.isHeld()) return begin();
    await this.#takeBack(path, before, leader);
    throw term.signal.reason;
  }

  /**
   * Notes that the last run of a job has ended, or that the end of the term has cut it off, which isn't the job's fault.
   * @throws as {@link begin}
   */
  async end(job: string, leader: Leader, isCutOff = false): Promise<void> {
    const path = this.#pathOf(job);
    const run = (await this.#node(path, leader))?.last?.id;
    for (;;) {
      const node = await this.#node(path, leader);
      if (node?.last?.open !== true || node.last.id !== run) return;
      const { open, attempts: _, ...last } = node.last;
      const ended = isCutOff ? { ...last, open, attempts: 0 } : last;
      if (await this.#write(path, ended, node, leader)) return;
    }
  }

  /** Notes for a job without a record that its firings later than `at` are to run. @throws as {@link begin} */
  async watchFrom(job: string, at: number, leader: Leader): Promise<void> {
    const path = this.#pathOf(job);
    const last = newRun(at, leader);
    for (;;) {
      const node = await this.#node(path, leader);
      if (node?.last !== undefined || (await this.#write(path, last, node, leader))) return;
    }
  }

  /**
   * The last firing of a job that a process has run; `undefined` if there is none. The first call of a term asks the servers.
   * @throws as {@link begin}
   */
  async lastRun(job: string, leader: Leader): Promise<LastRun | undefined> {
    return (await this.#node(this.#pathOf(job), leader))?.last;
  }

  #pathOf(job: string): string {
    return recordOf(this.#path, job);
  }

  async #node(path: string, { term, session }: Leader): Promise<KnownNode | undefined> {
    const known = this.#knownIn(term);
    if (!known.has(path)) known.set(path, await this.#read(path, term, session));
    return known.get(path);
  }

  async #read(path: string, term: Term, session: Session): Promise<KnownNode | undefined> {
    try {
      const { data, stat } = await session.retryUntilAnswered(() => session.getData(path), term.signal);
      return { version: stat.version, last: parseLastRun(data) };
    } catch (error) {
      if (!(error instanceof NoNodeError)) throw error;
      const ensure = () => session.ensurePath(this.#path);
      await abortable(session.retryUntilAnswered(ensure, term.signal), term.signal);
      return undefined;
    }
  }

  /** Returns `false` if the node must be read again. */
  async #write(path: string, last: LastRun, node: KnownNode | undefined, leader: Leader): Promise<boolean> {
    const known = this.#knownIn(leader.term);
    const data = serializeLastRun(last);
    const transaction = leader.term.transaction();
    if (node === undefined) transaction.create(path, data);
    else transaction.setData(path, data, node.version);
    this.#unanswered.add(last);
    try {
      await this.#commit(transaction, leader, () => this.#unanswered.delete(last));
      this.#unanswered.delete(last);
    } catch (error) {
      known.delete(path);
      if (isOutdated(error) || isUnanswered(error)) return false; // Another client wrote the node, or the reply was lost. A read shows which.
      throw error;
    }
    known.set(path, { version: node === undefined ? 0 : node.version + 1, last });
    return true;
  }

  /** Restores the node as it was before the note. Never rejects. */
  async #takeBack(path: string, before: KnownNode | undefined, leader: Leader): Promise<void> {
    const transaction = leader.term.transaction();
    this.#knownIn(leader.term).delete(path);
    if (before === undefined) transaction.remove(path, 0);
    else if (before.last === undefined) transaction.remove(path, before.version + 1);
    else transaction.setData(path, serializeLastRun(before.last), before.version + 1);
    try {
      await this.#commit(transaction, leader);
    } catch (error) {
      this.#logger.warn(
        { path, err: error },
        'a firing is lost: its note was written, and the term ended before its run',
      );
    }
  }

  /** @param refused - called if the servers have surely written nothing */
  #commit(
    transaction: GuardedTransaction,
    { term, session }: Leader,
    refused: () => void = ignore,
  ): Promise<void> {
    const answer = transaction.commit().catch((error: unknown) => {
      if (!mayHaveBeenWritten(error)) refused();
      throw error;
    });
    return abortableLate(session.clock, answer, OUTCOME_WITHIN_MS, term.signal);
  }

  #knownIn(term: Term): Map<string, KnownNode | undefined> {
    const known = this.#known.get(term) ?? new Map<string, KnownNode | undefined>();
    this.#known.set(term, known);
    return known;
  }
}

function newRun(at: number, { term, session }: Leader): LastRun {
  return { at, id: session.environment.uuid(), token: String(term.token) };
}

/** The path of the node that holds a job's last run. */
export function recordOf(log: string, job: string): string {
  return `${log}/${jobNodeNameOf(job)}`;
}

/** Whether the servers may have carried out what they haven't answered. */
function mayHaveBeenWritten(error: unknown): boolean {
  return isUnanswered(error) || error instanceof SessionExpiredError || error instanceof SessionClosedError;
}

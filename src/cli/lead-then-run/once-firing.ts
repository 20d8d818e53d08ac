import { TermEndedError } from '../../errors.js';
import { isDue, type LastRun, parseLastRun } from '../../jobs/last-run.js';
import { RunLog, recordOf } from '../../jobs/run-log.js';
import { deferred } from '../../platform/async/promises.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import { resolveLogger } from '../../platform/logging/logger.js';
import { dateAt } from '../../platform/time/timers.js';
import { DATA, FollowedNode } from '../../session/observers/followed-node.js';
import type { NodeData } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { EXIT } from '../process/exit-codes.js';
import { ONCE_JOB } from '../process/once-record-path.js';
import { printError } from '../process/output.js';
import { type CommandLeadership, CommandWork, type LeaderCommand } from './leader-command.js';

const { clock } = systemEnvironment;

/** One firing of a crontab line, on this machine. */
export interface OnceFiring {
  readonly log: string; // The path of the run log.
  readonly at: number; // When this process started, by this machine's clock.
  readonly everyMs: number;
}

/** Whether a run was begun for the firing: less than half of the period ago, or later, on a machine whose clock is ahead. */
export function isBegun({ at, everyMs }: OnceFiring, last: LastRun | undefined, now: number): boolean {
  return isDue(at, last, now, everyMs / 2) === 'done';
}

/** Follows the record of the last run, until {@link stop} is called. */
export class RunRecord {
  readonly #firing: OnceFiring;
  readonly #node: FollowedNode<NodeData>;
  readonly #first = deferred<string | undefined>();
  readonly #done = deferred<string>();

  constructor(session: Session, firing: OnceFiring) {
    this.#firing = firing;
    const listener = {
      read: ({ data }: NodeData) => this.#onRead(parseLastRun(data)),
      missing: () => this.#first.resolve(undefined),
      failed: this.#first.reject, // Later the election decides alone.
    };
    const options = { whenMissing: 'wait' } as const;
    this.#node = new FollowedNode(session, recordOf(firing.log, ONCE_JOB), DATA, listener, options);
  }

  /** Resolves when the servers have answered: with a message if a run was begun. @throws ZooKeeperError if they refuse */
  get first(): Promise<string | undefined> {
    return this.#first.promise;
  }

  /** Resolves with a message when a run was begun. Never rejects. */
  get done(): Promise<string> {
    return this.#done.promise;
  }

  stop(): void {
    this.#node.stop();
  }

  #onRead(last: LastRun | undefined): void {
    const message = isBegun(this.#firing, last, clock.date().getTime()) ? messageOf(last) : undefined;
    if (message !== undefined) this.#done.resolve(message);
    this.#first.resolve(message);
  }
}

/** The leader's work of `conclave once`: notes the firing, and runs the command, unless a run was begun for it. */
export class OnceWork extends CommandWork {
  override readonly done: Promise<string>;
  readonly #log: RunLog;
  readonly #firing: OnceFiring;
  readonly #isVerbose: boolean;

  constructor(options: LeaderCommand, firing: OnceFiring, record: RunRecord, isVerbose: boolean) {
    super(options);
    this.done = record.done;
    this.#log = new RunLog(firing.log, resolveLogger(options.target.session.logger));
    this.#firing = firing;
    this.#isVerbose = isVerbose;
  }

  override async lead(leadership: CommandLeadership): Promise<number | undefined> {
    const { term } = leadership;
    let known: LastRun | undefined;
    const due = (last: LastRun | undefined) => {
      known = last;
      return isDue(this.#firing.at, last, clock.date().getTime(), this.#firing.everyMs / 2);
    };
    const begin = () => ({ exitCode: super.lead(leadership) });
    try {
      const begun = await this.#log.begin({ job: ONCE_JOB, at: this.#firing.at }, leadership, { due }, begin);
      if (begun !== undefined) return await begun.exitCode;
    } catch (error) {
      if (error !== term.signal.reason) throw error;
      const isStopping = error instanceof TermEndedError && error.reason === 'stopped';
      if (!isStopping) printError('leadership lost: the command was not started');
      return EXIT.lost;
    }
    if (this.#isVerbose) printError(messageOf(known));
    return EXIT.ok;
  }
}

function messageOf(last: LastRun | undefined): string {
  return `nothing to do: a run was begun at ${dateAt(last?.at ?? 0).toISOString()}`;
}

import type { Command } from 'commander';
import type { Candidate } from '../../election/candidates/candidate.js';
import { ElectionObserver } from '../../election/observer/observer.js';
import { readElection } from '../../election/record/election-reader.js';
import { describe, SeatsMismatchError } from '../../errors.js';
import { type Abortable, LazyAbortController, onAbort } from '../../platform/async/lazy-abort-controller.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import { resolveSource } from '../../session/observers/observer-sessions.js';
import { SharedSessions } from '../../session/successive-sessions.js';
import { checkSeatOf, type SeatOptions, withElection, withSeat } from '../options/arguments.js';
import {
  type ConnectionOptions,
  DURATIONS,
  startInTime,
  type Target,
  targetOf,
  withConnection,
} from '../options/connection.js';
import { orUserError, type UserError } from '../process/exit-codes.js';
import { candidateJson, candidateLine, printError } from '../process/output.js';
import { whenStopAsked } from '../process/stop-asked.js';

interface ObserveOptions extends ConnectionOptions, SeatOptions {
  readonly json?: boolean;
}

const DESCRIPTION = `Prints the leader of an election: one line for the current leader and one at each change, until SIGINT \
(Ctrl+C), SIGTERM or SIGHUP, or until the reader of its output has gone. A line has the leader's id and the data that \
it advertises. The line is "nobody leads" if there is no leader, or if this process can't find out who leads. In an \
election with several seats it prints lines for each seat, which begin with the seat.

The output may be a moment old. You only need permission to read. If the election doesn't exist yet, the command \
waits for it.`;

const MORE_HELP = `
${DURATIONS}

With --json each line is an object with the member leader. That is null, or has
id, node, position, priority and, if the leader advertises data, data (text) or
base64. In an election with several seats the object also has the member seat.

Exits with 0 after a signal stopped it or its reader has gone, 64 if the command
line is wrong, 69 if it reached no server at the start, 77 if the servers refuse a
request.

Examples:
  conclave observe /elections/scheduler -c zk1:2181,zk2:2181
  conclave observe /elections/primary --json | while read -r leader; do …; done`;

/** `conclave observe`: prints the leader at each change. */
export function addObserve(program: Command): void {
  const command = program
    .command('observe')
    .summary('print the leader, at each change')
    .description(DESCRIPTION);
  withSeat(withConnection(withElection(command)))
    .option('--json', 'print each line as JSON')
    .addHelpText('after', MORE_HELP)
    .action(observe);
}

async function observe(election: string, options: ObserveOptions): Promise<void> {
  const target = targetOf(options);
  const { session } = target;
  const stop = new LazyAbortController();
  const own = orUserError(() =>
    resolveSource(
      target.connect,
      { session },
      { onError: (error) => printError(describe(error)), supervisor: 'none' },
    ),
  );
  const sessions = new SharedSessions(own.source, stop.signal);
  const observerOf = (seat: number | undefined) =>
    orUserError(() => new ElectionObserver(sessions, election, { seat, logger: session.logger }));
  const print = (leader: Candidate | undefined, seat?: number) =>
    console.log(options.json ? asJson(leader, seat) : asText(leader, seat));
  try {
    // A reader that has gone may be noticed only here: print nothing before.
    await whenStopAsked(systemEnvironment.clock, stop, () => stop.abort(undefined));
    const observer = observerOf(options.seat);
    const checkSeat = async () => {
      const { exists, seats } = await readElection(await sessions.session(stop.signal), election);
      if (exists) checkSeatOf(election, options.seat, seats.length);
    };
    const seats = await follow(
      observer,
      target,
      stop,
      (leader) => print(leader),
      options.seat === undefined ? undefined : checkSeat,
    );
    const each = Array.from({ length: seats ?? 0 }, (_, seat) =>
      follow(observerOf(seat), target, stop, (leader) => print(leader, seat)),
    );
    await Promise.all(each);
  } finally {
    stop.abort(undefined);
    await own.close();
  }
}

/**
 * Calls `print` with the leader at each change, until `stop` aborts or the observer ends.
 * @param check - called before the first print
 * @returns the number of seats, if the election has several and the observer was given none
 */
async function follow(
  observer: ElectionObserver,
  target: Target,
  stop: Abortable,
  print: (leader: Candidate | undefined) => void,
  check?: () => Promise<void>,
): Promise<number | undefined> {
  let mismatch: SeatsMismatchError | undefined;
  observer.on('error', (error) => {
    if (!(error instanceof SeatsMismatchError)) return printError(describe(error));
    mismatch = error; // The election was created after the observer had begun.
    void observer.stop();
  });
  const unsubscribe = onAbort(stop, () => void observer.stop());
  try {
    if (stop.aborted) return undefined;
    await startInTime(observer, target);
    await check?.();
    for await (const leader of observer) print(leader);
  } catch (error) {
    const { cause } = error as UserError;
    if (cause instanceof SeatsMismatchError) mismatch = cause;
    else if (!stop.aborted) throw error; // A start that was ended rejects.
  } finally {
    unsubscribe();
    await observer.stop();
  }
  return mismatch?.agreed;
}

function asJson(leader: Candidate | undefined, seat: number | undefined): string {
  const shown = leader === undefined ? null : candidateJson(leader);
  return JSON.stringify(seat === undefined ? { leader: shown } : { seat, leader: shown });
}

function asText(leader: Candidate | undefined, seat: number | undefined): string {
  const line = leader === undefined ? 'nobody leads' : candidateLine(leader);
  return seat === undefined ? line : `seat ${seat}  ${line}`;
}

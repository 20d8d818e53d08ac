import type { Command } from 'commander';
import type { Candidate } from '../../election/candidates/candidate.js';
import { ElectionObserver } from '../../election/observer/election-observer.js';
import { ElectionReader } from '../../election/record/election-reader.js';
import { revokeLeader } from '../../election/revoke-leader.js';
import { checkId } from '../../platform/checks.js';
import type { Session } from '../../session/session.js';
import { checked, duration, withElection } from '../options/argument-parsers.js';
import {
  type ConnectionOptions,
  DURATIONS,
  withConnection,
  withSession,
} from '../options/connection-options.js';
import { EXIT, UserError } from '../process/exit-codes.js';
import { print, printError } from '../process/output.js';
import { whyNoElection } from '../status/why-nothing-there.js';

interface ResignOptions extends ConnectionOptions {
  readonly to?: string;
  readonly grace?: number;
}

const DESCRIPTION = `Asks the leader of an election to step down, and waits until it has done so. Then the next candidate in \
the queue leads. A leader that campaigns again goes to the back of the queue. A leader that is conclave run without \
--restart ends, with exit code 76.

With --to it asks the leader to step down in favor of one candidate, and waits until that candidate leads. The candidate may be anywhere \
in the queue. The leader releases its term to that candidate, so no other candidate leads in between. The others keep their \
places. If there is no such candidate, or it leaves before the leader looks for it, the leader goes on leading.

You need permission to write the leader's node: if the leader uses --auth, give the same credentials.`;

const MORE_HELP = `
${DURATIONS}

Prints the id of the leader that stepped down; with --to the former and the new leader, as "old → new". Exits with 0 if
the leader has stepped down, with --to if that candidate leads now, or already led.
Exits with 1 if there is no leader, 64 if the command line is wrong or there is no
such candidate, 69 if it reached no server, 75 if the leader refused or didn't step
down in time, or if another candidate than that of --to leads now, 77 if the servers
refuse the request.

Examples:
  conclave resign /elections/scheduler -c zk1:2181 --grace 30s
  conclave resign /elections/scheduler --to worker-2`;

/** `conclave resign`: asks the leader to step down, also in favor of one candidate. */
export function addResign(program: Command, setExitCode: (code: number) => void): void {
  const command = program.command('resign').summary('ask the leader to step down').description(DESCRIPTION);
  withConnection(withElection(command))
    .option(
      '--to <candidate>',
      'the candidate that is to lead: its id, or the name of its node. If several candidates have that id, it is the first of them in the queue',
      checked((text) => checkId('to', text)),
    )
    .option(
      '--grace <duration>',
      "how long the leader's work may take to settle (default: the session timeout)",
      duration(),
    )
    .addHelpText('after', MORE_HELP)
    .action(async (election: string, options: ResignOptions) => {
      setExitCode(await withSession(options, (session) => resign(session, election, options)));
    });
}

async function resign(
  session: Session,
  election: string,
  { to, grace: graceMs }: ResignOptions,
): Promise<number> {
  if (to !== undefined && isNamed(await new ElectionReader(session, election).leader(), to)) {
    print(`${to} already leads`);
    return EXIT.ok;
  }
  const former = await revokeLeader(session, election, { to, graceMs });
  if (former === undefined) {
    const why = await whyNoElection(session, election);
    if (why !== undefined) printError(why);
    print('nobody leads');
    return EXIT.noLeader;
  }
  if (to === undefined) {
    print(former.id);
    return EXIT.ok;
  }
  const next = await nextLeader(session, election, former);
  if (next === undefined)
    throw new UserError(EXIT.notInTime, `${former.id} has stepped down, and no candidate leads yet`);
  print(`${former.id} → ${next.id}`);
  if (isNamed(next, to)) return EXIT.ok;
  printError(`${to} does not lead: it has left the queue, or the leader lost its term first`);
  return EXIT.notInTime;
}

/**
 * The leader after `former`, by the record. A release writes the next leader before it deletes the former leader's node. After an unclean
 * end that takes longer, so this function waits for one session timeout. `undefined`: no candidate leads by then.
 */
async function nextLeader(
  session: Session,
  election: string,
  former: Candidate,
): Promise<Candidate | undefined> {
  const observer = new ElectionObserver(session, election);
  let isLate = false;
  const timer = session.clock.after(session.sessionTimeoutMs, () => {
    isLate = true;
    void observer.stop(); // Ends the loop below.
  });
  try {
    await observer.start();
    for await (const leader of observer)
      if (leader !== undefined && leader.node !== former.node) return leader;
  } catch (error) {
    if (!isLate) throw error;
  } finally {
    timer.clear();
    await observer.stop();
  }
  session.ended.throwIfAborted();
  return undefined;
}

function isNamed(candidate: Candidate | undefined, name: string): boolean {
  return candidate?.id === name || candidate?.node === name;
}

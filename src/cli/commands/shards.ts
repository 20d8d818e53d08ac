import type { Command } from 'commander';
import { InvalidStateError } from '../../errors.js';
import { abortableLate } from '../../platform/async/promises.js';
import { checkPath } from '../../platform/checks.js';
import type { Session } from '../../session/session.js';
import { type GroupStatus, readGroupStatus, type ShardStatus } from '../../shards/group-status.js';
import { changePins, moveShard } from '../../shards/pinned-shards.js';
import { resizeGroup, untilGivenBack } from '../../shards/read-and-resize-group.js';
import { GroupPaths } from '../../shards/stored/group-paths.js';
import { rangesOfNumbers } from '../../shards/stored/shard-list.js';
import { checked, durationOption } from '../options/argument-parsers.js';
import {
  type ConnectionOptions,
  DURATIONS,
  withConnection,
  withSession,
} from '../options/connection-options.js';
import { EXIT, exitCodeOfSignal, UserError } from '../process/exit-codes.js';
import { print } from '../process/output.js';
import { onStopSignal } from '../process/stop-signals.js';

interface JsonOptions extends ConnectionOptions {
  readonly json?: boolean;
}

interface WaitOptions extends JsonOptions {
  readonly timeout: number;
}

const EXITS = `
${DURATIONS}

Exits with 0 when it is done, 64 if the command line is wrong or there is no such
group, 69 if it reached no server, 75 if it isn't done in time, 77 if the servers
refuse a request, 128 + n after signal n.`;

/** `conclave shards`: shows the owners of a group's shards, and lets an operator change them. */
export function addShards(program: Command, setExitCode: (code: number) => void): void {
  const shards = program
    .command('shards')
    .summary('show and change the owners of shards')
    .description(
      'Shows which member owns which shard of a group, and changes the owners while the members work.',
    );
  addStatus(shards, setExitCode);
  addPin(shards);
  addUnpin(shards);
  addMove(shards);
  addResize(shards);
}

function subcommand(shards: Command, name: string, summary: string, description: string): Command {
  const command = shards.command(name).summary(summary).description(description);
  const group = checked((text) => checkPath('group', text));
  return withConnection(command)
    .argument('<group>', "the group's path, as /shards/orders", group)
    .option('--json', 'print the result as JSON');
}

const withTimeout = (command: Command) =>
  command.addOption(
    durationOption('--timeout <duration>', 'how long to wait until it is done', '60s', { least: 1 }),
  );

function addStatus(shards: Command, setExitCode: (code: number) => void): void {
  subcommand(
    shards,
    'status',
    'print which member owns which shard',
    'Prints the members of a group and the shards that each owns. Prints each shard that differs from the plan, with the reason, and each removed shard that a member still has to give back. The command reads the records themselves. The output may be a moment old.',
  )
    .addHelpText(
      'after',
      `
With --json it prints an object: group, planner (an id, or null), members (id,
weight, data, owned, shards, draining, refused), shards (id, owner, term, planned,
pinned, problem), removed (as shards).

Exits with 0 if each shard has an owner, which is the planned one, and all removed shards were
given back, 1 if not, 64 if the command line is wrong or there is no such group, 69
if it reached no server, 77 if the servers refuse a request.

Example:
  conclave shards status /shards/orders -c zk1:2181 --json | jq '.shards[] | select(.problem)'`,
    )
    .action(async (group: string, options: JsonOptions) => {
      const status = await withGroup(group, options, readGroupStatus);
      print(...(options.json ? [JSON.stringify(status)] : asLines(status)));
      if (
        status.removed.length > 0 ||
        status.shards.some(({ owner, problem }) => owner === null || problem !== undefined)
      )
        setExitCode(EXIT.noLeader);
    });
}

function addPin(shards: Command): void {
  subcommand(
    shards,
    'pin',
    'pin a shard to a member',
    'Pins a shard to a member: whenever a member with that id is in the group, it owns the shard, even if that makes the shares uneven. A pin lasts until you remove it with unpin.',
  )
    .argument('<shard>', 'its id')
    .argument('<member>', "the member's id; the member may join later")
    .addHelpText('after', EXITS)
    .action(async (group: string, shard: string, member: string, options: JsonOptions) => {
      const pins = await withGroup(group, options, (session, paths) =>
        changePins(session, paths, (before) => before.set(shard, member)),
      );
      printResult(options, [`shard ${shard} is pinned to ${member}`], { pins: Object.fromEntries(pins) });
    });
}

function addUnpin(shards: Command): void {
  subcommand(
    shards,
    'unpin',
    'remove a pin',
    'Removes a pin. The shard stays with its owner as long as the shares are even.',
  )
    .argument('<shard>', 'its id')
    .addHelpText('after', EXITS)
    .action(async (group: string, shard: string, options: JsonOptions) => {
      const pins = await withGroup(group, options, (session, paths) =>
        changePins(session, paths, (before) => {
          before.delete(shard);
          return before;
        }),
      );
      printResult(options, [`shard ${shard} is not pinned`], { pins: Object.fromEntries(pins) });
    });
}

function addMove(shards: Command): void {
  withTimeout(
    subcommand(
      shards,
      'move',
      'move a shard once',
      'Moves a shard to a member, once, and waits until the member owns it. If that would make the shares uneven, one of that member’s shards goes the other way. Until they have moved, these shards are pinned, for as long as the command’s session lasts.',
    ),
  )
    .argument('<shard>', 'its id')
    .argument('<member>', 'the id of a member that is in the group now')
    .addHelpText('after', EXITS)
    .action(async (group: string, shard: string, member: string, options: WaitOptions) => {
      const moved = await withGroup(group, options, (session, paths) =>
        inTime(session, options, `shard ${shard} has not moved`, (signal) =>
          moveShard(session, paths, { shard, member }, signal),
        ),
      );
      const text =
        moved.length === 0
          ? [`${member} owns shard ${shard} already`]
          : moved.map((each) => `shard ${each} has moved`);
      printResult(options, text, { moved });
    });
}

function addResize(shards: Command): void {
  withTimeout(
    subcommand(
      shards,
      'resize',
      'change the number of shards',
      'Gives a group another number of shards, or other names, while its members work. New shards are shared out at once. Members give removed shards back when their work has settled, and the command waits for that. Members that start with the former number use the new one. After a change of the number, most keys belong to other shards: see docs/shards.md.',
    ),
  )
    .argument('<shards...>', 'the number of shards, or the names of a group that has names')
    .addHelpText('after', EXITS)
    .action(async (group: string, given: string[], options: WaitOptions) => {
      const [first = ''] = given;
      const wanted = given.length === 1 && /^\d+$/.test(first) ? Number(first) : given;
      const { list } = await withGroup(group, options, async (session, paths) => {
        const after = await resizeGroup(session, paths, wanted);
        await inTime(session, options, 'some shards still have to be given back', (signal) =>
          untilGivenBack(session, paths, signal),
        );
        return after;
      });
      printResult(options, [`the group has ${list.toString()}`], { count: list.count });
    });
}

/** Runs `act` until it is done, the timeout is over, or a signal comes. `act` takes back what it would leave behind. */
async function inTime<T>(
  session: Session,
  { timeout }: WaitOptions,
  what: string,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const end = (code: number, when: string) =>
    ended.abort(new UserError(code, `${what} ${when}: conclave shards status says why`));
  const timer = session.clock.after(timeout, () => end(EXIT.notInTime, `within ${timeout} ms`));
  const unsubscribe = onStopSignal((signal) => end(exitCodeOfSignal(signal), `when ${signal} came`));
  try {
    const acting = act(ended.signal);
    // Without a server `act` can't delete what it has made. That is ephemeral: the end of the session deletes it.
    return await abortableLate(session.clock, acting, session.leaseMs, ended.signal);
  } finally {
    timer.clear();
    unsubscribe();
  }
}

async function withGroup<T>(
  group: string,
  options: ConnectionOptions,
  use: (session: Session, paths: GroupPaths) => Promise<T>,
): Promise<T> {
  return await withSession(options, async (session) => {
    try {
      return await use(session, new GroupPaths(group));
    } catch (error) {
      if (!(error instanceof InvalidStateError)) throw error;
      throw new UserError(EXIT.usage, error.message, { cause: error });
    }
  });
}

function printResult({ json }: JsonOptions, lines: readonly string[], result: object): void {
  print(...(json ? [JSON.stringify(result)] : lines));
}

function asLines({ shards, removed, members, planner }: GroupStatus): string[] {
  const owned = shards.filter(({ owner }) => owner !== null).length;
  const first = `${shards.length} shards, ${owned} owned; ${planner === null ? 'no planner' : `planner ${planner}`}`;
  const isNumbered = shards.every(({ id }, at) => id === String(at));
  const listed = (ids: readonly string[]) => (isNumbered ? rangesText(ids) : ids.join(', '));
  const lines = members.map(({ id, weight, owned: count, shards: own, data, draining, refused }) =>
    [
      `member ${id}  owns ${count}${count === 0 ? '' : `: ${listed(own)}`}`,
      ...(weight === 1 ? [] : [`weight ${weight}`]),
      ...(draining ? ['drains'] : []),
      ...(refused.length > 0 ? [`refuses ${listed(refused)} for now`] : []),
      ...(data === undefined ? [] : [data]),
    ].join('  '),
  );
  const problems = shards.filter(({ problem }) => problem !== undefined).map((each) => problemLine(each));
  const pinned = shards
    .filter((shard) => shard.pinned !== undefined)
    .map(({ id, pinned: to }) => `pinned  shard ${id} to ${to}`);
  const late = removed.map((each) => problemLine(each, ', which the group no longer has'));
  return [first, ...lines, ...pinned, ...problems, ...late];
}

/** Of numbers, which are written as a member's many shards are: 0-15, 20. */
function rangesText(ids: readonly string[]): string {
  const ranges = rangesOfNumbers(ids.map(Number));
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}

function problemLine({ id, problem }: ShardStatus, which = ''): string {
  return `shard ${id}${which}: ${problem}`;
}

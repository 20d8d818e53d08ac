import { parseRecord } from '../../election/record/election-record.js';
import { parseLastRun } from '../../jobs/last-run.js';
import { RUN_LOG } from '../../jobs/run-log.js';
import { takeoverDelayMs } from '../../lease/failure-detector.js';
import type { NodeKind } from '../../overview/model/node-kind.js';
import { childPath } from '../../platform/zookeeper-paths.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { ageText } from '../process/output.js';
import {
  childrenOf,
  kept,
  kindOfFamily,
  type NodeVisit,
  type PruneDecision,
  type PruneSearch,
  type ReadFamily,
  readNode,
  type VisitedNode,
  walk,
} from './walk-tree.js';

/**
 * The elections at `root` and below it that may be removed. It leaves out the elections in which groups of shards elect their planners: they
 * belong to their group.
 * @param olderThanMs - elections that were changed later are kept, in milliseconds
 * @throws as {@link walk} does
 */
export function prunableElections(session: Session, root: string, olderThanMs: number): Promise<PruneSearch> {
  const nowMs = session.clock.date().getTime();
  return walk(session, root, (family) =>
    visit(session, family, { nowMs, olderThanMs, isNamed: family.node.path === root }),
  );
}

const FOREIGN = kept(
  'it has data that Conclave has not written. Name a path below it to remove elections there',
);

/** Data that this release can't read may be a newer release's, whose nodes look like elections. */
function isForeign(family: ReadFamily): boolean {
  return family.node.data.length > 0 && family.children.length > 0 && lastingKindOf(family) === 'other';
}

async function visit(session: Session, family: ReadFamily, limits: PruneLimits): Promise<NodeVisit> {
  const { children } = family;
  if (limits.isNamed !== true && isForeign(family)) return { decision: FOREIGN, further: [] };
  const kind = lastingKindOf(family);
  if (kind === 'group') return { further: [] };
  if (kind !== 'election') return { further: children.filter((name) => kindOfChild(name) !== 'candidate') };
  return {
    decision: pruneDecisionOf(await readParts(session, family), limits),
    further: children.filter((name) => kindOfChild(name) === 'other'),
  };
}

async function readParts(session: Session, { node, children }: ReadFamily): Promise<ElectionNodes> {
  const parent = children.includes(RUN_LOG)
    ? await readNode(session, childPath(node.path, RUN_LOG))
    : undefined;
  if (parent === undefined) return { election: node, children, runLog: undefined };
  const names = (await childrenOf(session, parent)) ?? [];
  const tasks = await Promise.all(names.map((name) => readNode(session, childPath(parent.path, name))));
  return { election: node, children, runLog: { parent, tasks: tasks.filter((task) => task !== undefined) } };
}

export interface PruneLimits {
  /** This machine's time, in milliseconds since 1970. */
  readonly nowMs: number;
  /** An election that was changed later is kept. */
  readonly olderThanMs: number;
  /** Whether its path was given. If it has other nodes below it, it is a folder that became an election: its record goes, the folder stays. */
  readonly isNamed?: boolean;
}

/** The record keeps a firing from running again in a replica that saw it, for `lateMs`. An hour is longer than most of these. */
const RUNS_KEPT_MS = 60 * 60 * 1000;

/**
 * Whether an election may be removed: it has no candidates, and nothing below it but what Conclave has written for it.
 *
 * The removal deletes the record, too. Nothing needs its protection by then: after a term that ended uncleanly prune waits as a candidate
 * would, and any claim after the reading changes a version on which the removal depends. A candidate that comes later finds a new election.
 */
export function pruneDecisionOf(
  nodes: ElectionNodes,
  { nowMs, olderThanMs, isNamed }: PruneLimits,
): PruneDecision {
  const { election, children, runLog } = nodes;
  const candidates = children.filter((name) => kindOfChild(name) === 'candidate').length;
  if (candidates > 0) return kept('it has candidates', 'in-use');
  const strangers = children.filter((name) => kindOfChild(name) === 'other');
  const isFolder = strangers.length > 0;
  if (isFolder && isNamed !== true)
    return kept(`it has other nodes below it, ${strangers[0]} for one. Name it to make it a folder again`);
  const tasks = runLog?.tasks ?? [];
  const below = tasks.find(({ stat }) => stat.numChildren > 0);
  if (below !== undefined) return kept(`${below.path} has nodes below it`);
  if (runLog !== undefined && !isRunLog(runLog)) return kept(`${runLog.parent.path} is of another kind`);
  const record = parseRecord(election.data, election.stat.version);
  if (record.state === 'unreadable') return kept("its record can't be read");
  const ranAtMs = Math.max(0, ...tasks.map(({ stat }) => stat.modifiedAtMs));
  if (nowMs - ranAtMs < RUNS_KEPT_MS) return kept('a job ran less than an hour ago');
  const changedAtMs = Math.max(election.stat.modifiedAtMs, ranAtMs);
  const changed = `changed ${ageText(changedAtMs, nowMs)} ago`;
  if (nowMs - changedAtMs < olderThanMs) return kept(`it was ${changed}`);
  return {
    kind: 'removable',
    description: `term ${record.term}  ${changed}${isFolder ? '  stays, as a folder' : ''}`,
    // Until then a leader that ended uncleanly may act on its lease.
    waitMs: record.state === 'held' ? takeoverDelayMs(record.leaseMs) : 0,
    parts: deletionsOf(nodes, isFolder),
  };
}

function isRunLog({ parent, tasks }: NonNullable<ElectionNodes['runLog']>): boolean {
  return parent.data.length === 0 && tasks.every(({ data }) => parseLastRun(data) !== undefined);
}

/** Deletes children first. The servers refuse to delete a node that got children or was written later. */
function deletionsOf({ election, runLog }: ElectionNodes, isFolder: boolean): TransactionPart[] {
  const runs = runLog === undefined ? [] : [...runLog.tasks, runLog.parent];
  const deletion = ({ path, stat: { version } }: VisitedNode) => ({ kind: 'delete', path, version }) as const;
  const { path, stat } = election;
  const last: TransactionPart = isFolder
    ? { kind: 'set', path, version: stat.version, data: Buffer.alloc(0) }
    : deletion(election);
  return [...runs.map(deletion), last];
}

/** All persistent nodes of an election, as they were read, and the names of all its children. */
export interface ElectionNodes {
  /** The election's own node, which has its record. */
  readonly election: VisitedNode;
  readonly children: readonly string[];
  /** The run log of jobs: its parent, and a node for each job. */
  readonly runLog: { readonly parent: VisitedNode; readonly tasks: readonly VisitedNode[] } | undefined;
}

/** Candidates and their heartbeat nodes. */
const EPHEMERAL = /^_[ch]_/;

/** The kind of an election's child, by its name. */
export function kindOfChild(name: string): 'candidate' | 'run-log' | 'other' {
  if (EPHEMERAL.test(name)) return 'candidate';
  return name === RUN_LOG ? 'run-log' : 'other';
}

/** The kind of a node by what stays below it: an election is one that was led, since candidates alone leave nothing to remove. */
export function lastingKindOf({ node, children }: ReadFamily): NodeKind['name'] {
  const lasting = children.filter((name) => kindOfChild(name) !== 'candidate');
  return kindOfFamily({ node, children: lasting }).name;
}

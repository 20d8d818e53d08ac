import { parseRecord, type ReadRecord } from '../../election/record/record.js';
import { kindOf, type NodeKind, SEAT } from '../../overview/model/node-kind.js';
import type { NodeData } from '../../session/protocol/records.js';
import type { ReadNode } from './walk.js';

/** All persistent nodes of an election, as they were read, and the names of all its children. */
export interface ElectionNodes {
  /** The election's own node, which has its record or the number of its seats. */
  readonly election: ReadNode;
  readonly children: readonly string[];
  /** The records of its seats, if it has several. */
  readonly seats: readonly ReadNode[];
  /** The notes of node-cron's coordinator: their parent, and a node for each task. */
  readonly runLog: { readonly parent: ReadNode; readonly tasks: readonly ReadNode[] } | undefined;
}

/** The child of an election below which node-cron's coordinator notes the runs, unless it was given another path. */
const RUN_LOG = 'cron';

/** Candidates and their heartbeat nodes. */
const EPHEMERAL = /^_[ch]_/;

/** The kind of an election's child, by its name. */
export function kindOfChild(name: string): 'candidate' | 'seat' | 'run-log' | 'other' {
  if (EPHEMERAL.test(name)) return 'candidate';
  if (SEAT.test(name)) return 'seat';
  return name === RUN_LOG ? 'run-log' : 'other';
}

/** The kind of a node by what stays below it: an election is one that was led, since candidates alone leave nothing to remove. */
export function lastingKindOf({ data, stat }: NodeData, children: readonly string[]): NodeKind['name'] {
  const names = children.filter((name) => kindOfChild(name) !== 'candidate');
  return kindOf({ data, version: stat.version, names }).name;
}

/** The election's records: its own, unless that is a number of seats, and those of its seats. */
export function recordsOf({ election, seats }: ElectionNodes): ReadRecord[] {
  const own = parseRecord(election.data, election.stat.version);
  const nodes = own.state === 'unreadable' ? seats : [election, ...seats];
  return nodes.map(({ data, stat }) => parseRecord(data, stat.version));
}

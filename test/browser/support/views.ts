import type {
  CandidateView,
  DashboardState,
  ElectionView,
  GroupView,
  LeaderView,
  LockView,
  TermView,
} from '../../../src/dashboard/api-types.js';

export const ROOT = '/elections';
const MINUTE = 60_000;

/** A state of the dashboard that has only the given parts. */
export function stateOf(parts: Partial<DashboardState> = {}): DashboardState {
  const now = Date.now();
  return {
    now,
    root: ROOT,
    connected: true,
    disconnectedSince: null,
    mayAct: false,
    elections: [],
    locks: [],
    groups: [],
    servers: [],
    transitions: [],
    ...parts,
  };
}

export interface ElectionParts {
  readonly now?: number;
  /** The ids of the candidates in the order of the queue. The first one leads. */
  readonly ids?: readonly string[];
  readonly state?: ElectionView['state'];
  readonly data?: string;
  /** How long ago each term began, the oldest term first, and how long the gap before it was. */
  readonly begun?: readonly {
    readonly agoMs: number;
    readonly gapMs?: number;
    readonly end?: TermView['end'];
  }[];
  readonly leaseMs?: number;
}

/** An election. Its candidates have led in turn. The first one leads now, unless `state` says otherwise. */
export function electionOf(name: string, parts: ElectionParts = {}): ElectionView {
  const {
    now = Date.now(),
    ids = ['worker-1', 'worker-2', 'worker-3'],
    state = 'led',
    leaseMs = 2_000,
  } = parts;
  const begun = parts.begun ?? [{ agoMs: 95 * MINUTE }];
  const isLed = state === 'led' || state === 'taking-over';
  const terms = begun.map(({ agoMs, end = 'handed-over' }, index): TermView => {
    const next = begun[index + 1];
    const id = ids[(ids.length - ((begun.length - 1 - index) % ids.length)) % ids.length] ?? null;
    const last = isLed ? null : now - 7_000;
    const to = next === undefined ? last : now - next.agoMs - (next.gapMs ?? 2);
    return {
      term: 40 + index,
      id,
      from: now - agoMs,
      to,
      end: to === null ? null : next === undefined ? 'session-ended' : end,
    };
  });
  const current = terms.at(-1) as TermView;
  const leader: LeaderView | null =
    state === 'led'
      ? {
          id: ids[0] ?? '?',
          node: nodeOf(0),
          term: current.term,
          since: current.from,
          leaseMs,
          heartbeatAt: now - leaseMs / 8,
        }
      : null;
  const candidates = ids.map(
    (id, position): CandidateView => ({
      id,
      node: nodeOf(position),
      position,
      priority: 0,
      leads: leader !== null && position === 0,
      ...(parts.data === undefined ? {} : { data: parts.data }),
    }),
  );
  const next = candidates.find(({ leads }) => !leads);
  return {
    path: `${ROOT}/${name}`,
    state,
    leader,
    candidates: state === 'deserted' ? [] : candidates,
    next: next === undefined ? null : { id: next.id, node: next.node, why: 'queue' },
    terms,
  };
}

function nodeOf(position: number): string {
  return `_c_0b6ffb7c9c1a4d2f8a5e9d3b7c1e4f2a-lock-${String(position).padStart(10, '0')}`;
}

/** A group whose members own its shards in turn. */
export function groupOf(name: string, shards: number, members: readonly string[]): GroupView {
  return {
    path: `${ROOT}/${name}`,
    state: 'owned',
    shards: Array.from({ length: shards }, (_, shard) => String(shard)),
    members: members.map((id, index) => ({ id, node: nodeOf(index), weight: 1, planner: index === 0 })),
    owners: Array.from({ length: shards }, (_, shard) => Math.floor((shard * members.length) / shards)),
    pins: [],
    moves: [],
  };
}

export function lockOf(name: string, ids: readonly string[], parts: Partial<LockView> = {}): LockView {
  const now = Date.now();
  return {
    path: `${ROOT}/${name}`,
    kind: 'lock',
    capacity: 1,
    queue: ids.map((id, index) => ({
      node: nodeOf(index),
      id,
      shared: false,
      since: now - (index + 1) * 9_000,
    })),
    holding: Math.min(1, ids.length),
    ...parts,
  };
}

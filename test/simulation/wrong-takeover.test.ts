import { vi } from 'vitest';
import type { KnownRecord } from '../../src/election/decide-next-step.js';
import { LeaderMonitor } from '../../src/election/leader-monitor.js';
import type * as Transitions from '../../src/election/term/claim-and-release-writes.js';
import type * as Silence from '../../src/lease/failure-detector.js';
import { HeartbeatNode } from '../../src/lease/heartbeat-node.js';
import { NodeWithHeartbeat } from '../../src/lease/node-with-heartbeat.js';
import { OwnNode } from '../../src/lease/own-node.js';
import type { LeaseInstant } from '../../src/platform/time/clock.js';
import { heartbeatNodeOf } from '../../src/queue/names-and-order.js';
import type { Stat, TransactionPart } from '../../src/session/protocol/multi-and-stats.js';
import type { Session } from '../../src/session/session.js';
import { ELECTION } from './candidates/candidate.js';
import type { Machine } from './machine.js';
import { findEach, replace, type Wrong } from './wrong.js';

/** Functions that replace those of modules for a test. */
const rules = vi.hoisted(() => ({
  afterRead: undefined as undefined | ((right: typeof Silence.afterRead) => typeof Silence.afterRead),
  leftMs: undefined as undefined | ((right: typeof Silence.leftMs) => typeof Silence.leftMs),
  takeoverParts: undefined as
    | undefined
    | ((right: typeof Transitions.takeoverParts) => typeof Transitions.takeoverParts),
}));

vi.mock(import('../../src/lease/failure-detector.js'), async (load) => {
  const right = await load();
  return {
    ...right,
    afterRead: (...given) => (rules.afterRead?.(right.afterRead) ?? right.afterRead)(...given),
    leftMs: (...given) => (rules.leftMs?.(right.leftMs) ?? right.leftMs)(...given),
  };
});

vi.mock(import('../../src/election/term/claim-and-release-writes.js'), async (load) => {
  const right = await load();
  return {
    ...right,
    takeoverParts: (...given) =>
      (rules.takeoverParts?.(right.takeoverParts) ?? right.takeoverParts)(...given),
  };
});

/** Replaces a function of a module. */
function replaceRule<K extends keyof typeof rules>(name: K, by: NonNullable<(typeof rules)[K]>): () => void {
  rules[name] = by;
  return () => {
    rules[name] = undefined;
  };
}

/** Replaces what claims by takeover delete. */
function deleteInstead(by: (deletions: readonly TransactionPart[]) => TransactionPart[]): () => void {
  return replaceRule(
    'takeoverParts',
    (right) =>
      (...given) =>
        by(right(...given)),
  );
}

/** An answer that has shown the version of a heartbeat node to a candidate. */
interface SeenVersion {
  readonly session: Session;
  readonly path: string;
  readonly version: number;
}

/** Looks at each such answer before the candidate does. */
function lookAtVersions(look: (seen: SeenVersion) => void): () => void {
  return replace(LeaderMonitor.prototype, 'nextRead', (right) => {
    return function (this: LeaderMonitor) {
      const read = right.call(this);
      const { name, path } = read.request;
      const { session } = this.host.contender;
      const answered = (value: unknown) => {
        if (name === 'exists') look({ session, path: path as string, version: (value as Stat).version });
        read.answered(value);
      };
      return { ...read, answered };
    };
  });
}

/** Replaces what candidates know of a record. */
function know(by: (known: KnownRecord, record: LeaderMonitor) => KnownRecord): () => void {
  const right = Object.getOwnPropertyDescriptor(LeaderMonitor.prototype, 'known') as PropertyDescriptor;
  Object.defineProperty(LeaderMonitor.prototype, 'known', {
    configurable: true,
    get(this: LeaderMonitor) {
      return by(right.get?.call(this) as KnownRecord, this);
    },
  });
  return () => Object.defineProperty(LeaderMonitor.prototype, 'known', right);
}

function undoAll(each: readonly (() => void)[]): () => void {
  return () => {
    for (const undo of each) undo();
  };
}

/** The session of each node that is created meanwhile. */
function keepSessions(sessions: WeakMap<OwnNode, Session>): () => void {
  return replace(NodeWithHeartbeat, 'of', (right) => (session, ...more) => {
    const node = right.call(NodeWithHeartbeat, session, ...more);
    sessions.set(node, session);
    return node;
  });
}

function machineOf(session: Session): Machine {
  return session.environment.clock as Machine;
}

const TWO_LEADERS = /^two leaders: /;

/** What only the nodes themselves may call. */
interface LeaseOfNode {
  found(sentAt: LeaseInstant): void;
  extendLease(sentAt: LeaseInstant): void;
}

const WRONG: readonly Wrong[] = [
  {
    what: 'a guarded transaction that begins a lease, and raises no version',
    hint: 64,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: () =>
      replace(NodeWithHeartbeat.prototype as unknown as LeaseOfNode, 'found', () => {
        return function (this: LeaseOfNode, sentAt) {
          this.extendLease(sentAt);
        };
      }),
  },
  {
    what: 'a heartbeat that only checks the own node',
    hint: 1,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: () =>
      undoAll([
        replace(HeartbeatNode.prototype, 'absoluteRaise', () => () => ({ kind: 'check', path: ELECTION })),
        replace(HeartbeatNode.prototype, 'written', () => () => true),
      ]),
  },
  {
    what: 'a delay that counts from when the read was sent',
    hint: 2,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: () =>
      replaceRule(
        'afterRead',
        (right) => (before, stat, read) => right(before, stat, { ...read, now: read.readAt }),
      ),
  },
  {
    what: 'a delay that counts from the newest heartbeat, though the claim came after it',
    hint: 59,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: countFromHeartbeats,
  },
  {
    what: 'a delay that is too short',
    hint: 1,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: () =>
      replaceRule('leftMs', (right) => (sign, limits, now) => {
        return right(sign, { ...limits, leaseMs: 0.7 * limits.leaseMs }, now);
      }),
  },
  {
    what: 'a claim that deletes whatever version the heartbeat node has',
    hint: 131,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: () =>
      deleteInstead((deletions) => deletions.map((each) => ({ ...each, version: -1 }) as TransactionPart)),
  },
  {
    what: 'a claim that deletes nothing, while the former leader goes on',
    hint: 8,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: () => deleteInstead(() => []),
  },
  {
    what: 'a delay that counts from the last version, when the node is gone',
    hint: 56,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: countFromVersionsOfGoneNodes,
  },
  {
    what: 'candidates that wait for the end of a session, though they should not',
    hint: 6,
    found: /^takeover: /,
    faultRate: 'few',
    make: () => know((known) => ({ ...known, isProtected: true })),
  },
];

/** It is even known when that heartbeat was sent. But a lease of the leader may have begun later. */
function countFromHeartbeats(): () => void {
  const sessions = new WeakMap<OwnNode, Session>();
  /** By the clock on the wall, for each heartbeat node. */
  const sentAts = new Map<string, number>();
  let seen: SeenVersion | undefined;
  return undoAll([
    keepSessions(sessions),
    replace(OwnNode.prototype, 'confirmed', (right) => {
      return function (this: OwnNode, sentAt) {
        right.call(this, sentAt);
        const path = this.raised?.path;
        if (path !== undefined)
          sentAts.set(path, machineOf(sessions.get(this) as Session).wallTimeOfLease(sentAt));
      };
    }),
    lookAtVersions((each) => {
      seen = each;
    }),
    replaceRule('afterRead', (right) => (before, stat, read) => {
      const after = right(before, stat, read);
      if (after.name !== 'beating' || seen === undefined) return after;
      const { now } = read;
      const agoMs =
        machineOf(seen.session).wallTimeOf(now) - (sentAts.get(seen.path) ?? Number.POSITIVE_INFINITY);
      return { ...after, since: agoMs > 0 ? now - agoMs : now };
    }),
  ]);
}

/** As if no heartbeat could have been committed that the candidate hasn't seen. */
function countFromVersionsOfGoneNodes(): () => void {
  const seen = new WeakMap<Session, Map<string, { version: number; since: number }>>();
  return undoAll([
    lookAtVersions(({ session, path, version }) => {
      const versions = seen.get(session) ?? new Map();
      seen.set(session, versions);
      const name = path.slice(path.lastIndexOf('/') + 1);
      if (versions.get(name)?.version !== version)
        versions.set(name, { version, since: session.clock.now() });
    }),
    know((known, { host }) => {
      const { record, holder } = known;
      if (holder.name !== 'gone' || record?.value.state !== 'held') return known;
      const last = seen.get(host.contender.session)?.get(heartbeatNodeOf(record.value.node));
      return last === undefined ? known : { ...known, holder: { name: 'gone', since: last.since } };
    }),
  ]);
}

findEach(WRONG);

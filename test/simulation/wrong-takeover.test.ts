import { vi } from 'vitest';
import { FailureDetector } from '../../src/election/takeover/failure-detector.js';
import type * as LeaseObservations from '../../src/election/takeover/lease-observation.js';
import { Takeover } from '../../src/election/takeover/takeover.js';
import type * as ClaimRules from '../../src/election/term/claim-rules.js';
import { EphemeralNode } from '../../src/lease/ephemeral-node.js';
import { HeartbeatNode } from '../../src/lease/heartbeat-node.js';
import type { Contender } from '../../src/lock/queue/contender.js';
import { heartbeatNodeOf } from '../../src/lock/queue/heartbeat-node.js';
import type { Stat, TransactionPart } from '../../src/session/protocol/records.js';
import type { Session } from '../../src/session/session.js';
import { ELECTION } from './candidates/candidate.js';
import type { Machine } from './machine.js';
import { findEach, replace, type Wrong } from './wrong.js';

/** Functions that replace those of modules for a test. */
const rules = vi.hoisted(() => ({
  observed: undefined as
    | undefined
    | ((right: typeof LeaseObservations.observed) => typeof LeaseObservations.observed),
  takeoverStep: undefined as
    | undefined
    | ((right: typeof LeaseObservations.takeoverStep) => typeof LeaseObservations.takeoverStep),
  nextClaimStep: undefined as
    | undefined
    | ((right: typeof ClaimRules.nextClaimStep) => typeof ClaimRules.nextClaimStep),
}));

vi.mock(import('../../src/election/takeover/lease-observation.js'), async (load) => {
  const right = await load();
  return {
    ...right,
    observed: (...given) => (rules.observed?.(right.observed) ?? right.observed)(...given),
    takeoverStep: (...given) => (rules.takeoverStep?.(right.takeoverStep) ?? right.takeoverStep)(...given),
  };
});

vi.mock(import('../../src/election/term/claim-rules.js'), async (load) => {
  const right = await load();
  return {
    ...right,
    nextClaimStep: (...given) =>
      (rules.nextClaimStep?.(right.nextClaimStep) ?? right.nextClaimStep)(...given),
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
  return replace(Takeover.prototype, 'carryOut', (right) => {
    return function (this: Takeover, contender, failure, signal, claim) {
      return right.call(this, contender, failure, signal, (deletions) => claim(by(deletions)));
    };
  });
}

/** An answer that has shown the version of a heartbeat node to a candidate. */
interface SeenVersion {
  readonly contender: Contender;
  readonly path: string;
  readonly version: number;
}

/** Looks at each such answer before the candidate's detector does. */
function lookAtVersions(look: (seen: SeenVersion) => void): () => void {
  const contenders = new WeakMap<FailureDetector, Contender>();
  const undo = [
    replace(Takeover.prototype, 'detectors', (right) => {
      return function (this: Takeover, contender, onFailure) {
        const detectors = right.call(this, contender, onFailure);
        for (const each of detectors) contenders.set(each, contender);
        return detectors;
      };
    }),
    replace(FailureDetector.prototype, 'nextRead', (right) => {
      return function (this: FailureDetector) {
        const read = right.call(this);
        const { name, path } = read.request;
        const contender = contenders.get(this) as Contender;
        const answered = (value: unknown) => {
          if (name === 'exists') look({ contender, path: path as string, version: (value as Stat).version });
          read.answered(value);
        };
        return { ...read, answered };
      };
    }),
  ];
  return undoAll(undo);
}

function undoAll(each: readonly (() => void)[]): () => void {
  return () => {
    for (const undo of each) undo();
  };
}

/** The session of each node that is created meanwhile. */
function keepSessions(sessions: WeakMap<EphemeralNode, Session>): () => void {
  return replace(EphemeralNode, 'of', (right) => (session, ...more) => {
    const node = right.call(EphemeralNode, session, ...more);
    sessions.set(node, session);
    return node;
  });
}

function machineOf(session: Session): Machine {
  return session.environment.clock as Machine;
}

const TWO_LEADERS = /^two leaders: /;

const WRONG: readonly Wrong[] = [
  {
    what: 'a guarded transaction that begins a lease, and raises no version',
    hint: 46,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: () =>
      replace(EphemeralNode.prototype, 'commit', (right) => {
        return async function (this: EphemeralNode, ...given) {
          const reply = await right.apply(this, given);
          this.extendLease(reply.sentAt);
          return reply;
        };
      }),
  },
  {
    what: 'a heartbeat that only checks the own node',
    hint: 1,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: checkAlone,
  },
  {
    what: 'a delay that counts from when the read was sent',
    hint: 2,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: () =>
      replaceRule(
        'observed',
        (right) => (before, stat, read) => right(before, stat, { ...read, now: read.readAt }),
      ),
  },
  {
    what: 'a delay that counts from the newest heartbeat, though the claim came after it',
    hint: 26,
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
      replaceRule('takeoverStep', (right) => (situation) => {
        return right({ ...situation, leaderLeaseMs: 0.7 * situation.leaderLeaseMs });
      }),
  },
  {
    what: 'a claim that deletes whatever version the heartbeat node has',
    hint: 68,
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
    hint: 24,
    found: TWO_LEADERS,
    faultRate: 'takeover',
    make: countFromVersionsOfGoneNodes,
  },
  {
    what: 'candidates that wait for the end of a session, though they should not',
    hint: 6,
    found: /^takeover: /,
    faultRate: 'few',
    make: () => replace(FailureDetector.prototype, 'follow', () => () => undefined),
  },
];

function checkAlone(): () => void {
  return undoAll([
    replace(HeartbeatNode.prototype, 'absoluteRaise', () => () => ({ kind: 'check', path: ELECTION })),
    replace(HeartbeatNode.prototype, 'written', () => () => true),
  ]);
}

/** It is even known when that heartbeat was sent. But the lease of the claim began later. */
function countFromHeartbeats(): () => void {
  const sessions = new WeakMap<EphemeralNode, Session>();
  /** By the clock on the wall, for each heartbeat node. */
  const sentAts = new Map<string, number>();
  let seen: SeenVersion | undefined;
  return undoAll([
    keepSessions(sessions),
    replace(EphemeralNode.prototype, 'confirmed', (right) => {
      return function (this: EphemeralNode, sentAt) {
        right.call(this, sentAt);
        const path = this.raised?.path;
        if (path !== undefined)
          sentAts.set(path, machineOf(sessions.get(this) as Session).wallTimeOfLease(sentAt));
      };
    }),
    lookAtVersions((each) => {
      seen = each;
    }),
    replaceRule('observed', (right) => (before, stat, read) => {
      const { contender, path } = seen as SeenVersion;
      const { now } = read;
      const agoMs =
        machineOf(contender.session).wallTimeOf(now) - (sentAts.get(path) ?? Number.POSITIVE_INFINITY);
      return { ...right(before, stat, read), since: agoMs > 0 ? now - agoMs : now };
    }),
  ]);
}

/** As if no heartbeat could have been committed that the candidate hasn't seen. */
function countFromVersionsOfGoneNodes(): () => void {
  const seen = new Map<string, { version: number; since: number }>();
  return undoAll([
    lookAtVersions(({ contender, path, version }) => {
      const key = `${contender.entry.node} ${path.slice(path.lastIndexOf('/') + 1)}`;
      if (seen.get(key)?.version !== version)
        seen.set(key, { version, since: contender.session.clock.now() });
    }),
    replaceRule('nextClaimStep', (right) => (situation) => {
      const { record, unclean, ownNode } = situation;
      const last =
        record.state === 'held' ? seen.get(`${ownNode} ${heartbeatNodeOf(record.node)}`) : undefined;
      return right(
        last === undefined ? situation : { ...situation, unclean: { ...unclean, seenAt: last.since } },
      );
    }),
  ]);
}

findEach(WRONG);

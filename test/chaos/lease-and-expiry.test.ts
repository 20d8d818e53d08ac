import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import type { Term } from '../../src/election/term/term.js';
import { LockNode } from '../../src/lease/own-node.js';
import { deferred } from '../../src/platform/async/promises.js';
import { systemEnvironment } from '../../src/platform/injected-environment.js';
import type { QueuePosition } from '../../src/queue/turn-wait.js';
import { Connection } from '../../src/session/connection/connection.js';
import { openTransport } from '../../src/session/connection/tcp-and-tls.js';
import type { AccessEntry } from '../../src/session/protocol/acl.js';
import { NEW_SESSION } from '../../src/session/protocol/requests.js';
import { Session } from '../../src/session/session.js';
import type { ZooKeeperServer } from '../../tools/zookeeper/server.mjs';
import { inOrder, openSession, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';
import { connectStringOf, Ensemble } from '../support/servers/ensemble.js';
import { concurrently, onTestFinished } from '../support/vitest/test-end.js';

const TICK_MS = 2000;
const SESSION_TIMEOUT_MS = 4000;
// Leases: the usual one, and one that is nearly as long as can be.
const THIRD_MS = SESSION_TIMEOUT_MS / 3;
const LONG_MS = SESSION_TIMEOUT_MS - 100;
// This timeout outlives every fault, and no link is given up during one.
const LASTING_SESSION_MS = 30_000;
// So many holders at once, with their heartbeats spread over one period, so that a fault comes at every stage of it.
const HOLDERS = 8;

const HOLDER = { scheme: 'digest', credentials: 'holder:secret' } as const;
const OPEN: readonly AccessEntry[] = [{ scheme: 'world', id: 'anyone', permissions: 31 }];
/** Only holders may delete children. */
const DELETE_BY_HOLDERS: readonly AccessEntry[] = [
  { scheme: 'auth', id: '', permissions: 31 },
  { scheme: 'world', id: 'anyone', permissions: 1 | 2 | 4 | 16 },
];

const { clock } = systemEnvironment;

/** The servers by what they do in a test. */
interface Cast {
  readonly ensemble: Ensemble;
  readonly leader: ZooKeeperServer;
  /** The follower to which the holders are connected. They know no other server: with another one they wouldn't expire. */
  readonly near: ZooKeeperServer;
  /** The follower that waiters and watchers are connected to. */
  readonly far: ZooKeeperServer;
}

interface Fault {
  readonly name: string;
  /** Resolves when the fault has come, at a stage of the servers' tick at which it does much harm. */
  strike(cast: Cast): Promise<void>;
}

const CUT: Fault = {
  name: 'the server at hand is cut off from its quorum',
  async strike({ ensemble, near }) {
    await untilStageOfTick(WORST_STAGE_MS);
    ensemble.isolate(near);
  },
};

const KILLED: Fault = {
  name: 'the server at hand is killed',
  async strike({ near }) {
    await untilStageOfTick(WORST_STAGE_MS);
    await near.kill();
  },
};

const leadingServerStandsStill = (ms: number): Fault => ({
  name: `the leading server stands still for ${ms} ms`,
  async strike({ leader, far }) {
    await untilStageOfTick(0);
    await leaveSessionsBehind(far, 0.6 * TICK_MS);
    leader.pause();
    const timer = setTimeout(() => leader.resume(), ms);
    onTestFinished(() => clearTimeout(timer));
  },
});

const STILL_5_S = leadingServerStandsStill(5000);
const STILL_7_S = leadingServerStandsStill(7000);

type Named = readonly [name: string, fault: Fault];
const named = (...faults: Fault[]): Named[] => faults.map((fault) => [fault.name, fault]);

/**
 * A leader hears of its followers' sessions twice a tick, and ends a session at the first full tick that is more than
 * the session timeout later. So a session has the least time left if it was heard of just before a full tick, and the
 * fault comes before it is heard of again. When in a tick a leader asks is left to chance at its start: at this stage
 * the fault finds some ensembles so.
 */
const WORST_STAGE_MS = TICK_MS / 4;

async function untilStageOfTick(stageMs: number): Promise<void> {
  // Java and Node count full ticks on the same clock, the machine's monotonic one.
  const nowMs = Number(process.hrtime.bigint() / 1_000_000n);
  await pause((((stageMs - nowMs) % TICK_MS) + TICK_MS) % TICK_MS);
}

/**
 * Opens many sessions and abandons them, so that they end at the same tick as the holders' sessions. A leader ends the sessions of a tick
 * one after another, and serves those whose turn hasn't come: with many it does so for long enough to matter.
 */
async function leaveSessionsBehind({ port }: ZooKeeperServer, forMs: number): Promise<void> {
  const end = performance.now() + forMs;
  const openAndLeave = async () => {
    while (performance.now() < end) {
      const server = { host: '127.0.0.1', port };
      const { connection } = await Connection.open(
        server,
        openTransport({ server, address: server.host }, systemEnvironment, undefined),
        { ...NEW_SESSION, timeoutMs: SESSION_TIMEOUT_MS },
        clock,
        { notified: () => undefined, connectionEnded: () => undefined },
        new AbortController().signal,
      );
      connection.destroy(new Error('left behind'));
    }
  };
  await Promise.all(Array.from({ length: 100 }, openAndLeave));
}

async function assemble(): Promise<Cast> {
  const ensemble = await Ensemble.start({ tickMs: TICK_MS, proxiedLinks: true });
  const [near, far] = await ensemble.followers();
  return { ensemble, leader: await ensemble.leader(), near, far };
}

/** A session for waiters and watchers. */
function openLastingSession({ far, leader }: Cast): Promise<Session> {
  const options = { sessionTimeoutMs: LASTING_SESSION_MS, environment: inOrder };
  return openSession(options, connectStringOf([far, leader]));
}

/** The results of `hold` for all holders, begun within one period of heartbeats. */
async function holders<T>(
  { near }: Cast,
  leaseMs: number,
  hold: (session: Session) => Promise<T>,
): Promise<T[]> {
  const sessions: Session[] = [];
  // All at once, because closing takes 2 s if it reaches no server.
  onTestFinished(async () => void (await Promise.all(sessions.map((session) => session.close()))));
  const begin = async (index: number) => {
    await pause((index * leaseMs) / 4 / HOLDERS);
    const options = {
      ...{ sessionTimeoutMs: SESSION_TIMEOUT_MS, leaseMs, auth: HOLDER, access: OPEN },
      allowUnprotectedPaths: true,
    };
    const session = await Session.connect(near.connectString, options);
    sessions.push(session);
    expect(session.sessionTimeoutMs).toBe(SESSION_TIMEOUT_MS);
    expect(session.leaseMs).toBe(leaseMs);
    return hold(session);
  };
  return Promise.all(Array.from({ length: HOLDERS }, (_, index) => begin(index)));
}

/**
 * Returns until when something was held: to the end of the newest lease, or to the moment at which the holder learned of the
 * loss before that.
 */
function watchHeld(held: { remainingMs(): number; readonly signal: AbortSignal }): () => number {
  let end = Number.NEGATIVE_INFINITY;
  const look = () => {
    const remainingMs = held.remainingMs();
    if (remainingMs > 0 && !held.signal.aborted) end = clock.now() + remainingMs;
  };
  look();
  // A renewal emits no event. They come at least 300 ms apart.
  const timer = setInterval(look, 5);
  onTestFinished(() => clearInterval(timer));
  held.signal.addEventListener('abort', () => {
    end = Math.min(end, clock.now());
  });
  return () => end;
}

/** Resolves with the time at which the observer learns that the node is gone. */
async function watchNode(observer: Session, path: string): Promise<{ gone: Promise<number> }> {
  // A follower may lag behind the leader. When it has answered this, it has the node.
  await observer.commit([{ kind: 'check', path }]);
  const gone = deferred<number>();
  await observer.getData(path, { onChange: () => gone.resolve(clock.now()) });
  return { gone: gone.promise };
}

/*
 * Why a lease of a third of the session timeout T is over in time when the server at hand is lost: the leading server
 * has heard of the session half a tick before that at the most, since heartbeats four times a lease make it active
 * between any two of the leader's pings. So the session ends T less half a tick after the fault at the earliest. The
 * newest heartbeat that was committed was sent before the fault, so the lease ends a third of T after it at the latest.
 * T is two ticks or more, unless `minSessionTimeout` was set lower: that makes 3/4 T against 1/3 T. Observed in 26 such
 * faults: the nodes were gone between 2210 and 4605 ms after the leases had ended.
 *
 * There is no such bound when the leading server itself stands still. When it goes on, the timeouts of its sessions
 * are over, and it ends them one by one. Meanwhile it takes those whose turn hasn't come at new connections, commits
 * their heartbeats, and then ends them all the same. Observed in 104 such faults with no sessions but the holders':
 * handshakes that were accepted up to 260 ms before the session's end, and no heartbeat. In 28 with 400 to 1800 other
 * sessions that ended at the same tick: heartbeats as well, in 9 of them, and leases that outlived their nodes by up to
 * 1285 ms of 1333, unless the notification of the deletion cut them short, some 250 ms after it. So nothing is asserted
 * about that here, and an elector waits until the former leader's lease is over.
 */
describe.concurrent('leases of a third of the session timeout', () => {
  it.for(named(CUT, KILLED))(
    'are over before the nodes are gone when %s',
    concurrently(async ([, fault]: Named) => {
      const cast = await assemble();
      const observer = await openLastingSession(cast);
      const nodes = await holders(cast, THIRD_MS, async (session) => {
        const path = uniquePath('held');
        const { sentAt } = await session.create(path, { mode: 'ephemeral' });
        const own = LockNode.of(session, path, sentAt);
        own.keepAlive();
        return { path, heldUntil: watchHeld(own), ...(await watchNode(observer, path)) };
      });
      await fault.strike(cast);
      for (const { path, heldUntil, gone } of nodes) {
        const goneAt = await gone;
        expect(heldUntil()).toBeLessThan(goneAt);
        expect(await observer.exists(path)).toBeUndefined();
      }
    }),
  );
});

/** One after the other: the start of a cluster beside them takes so much of the processors that leases end before the fault. */
describe('the terms of leaders', () => {
  it.for(named(CUT, KILLED, STILL_5_S, STILL_7_S))(
    'are over before others are elected when %s',
    concurrently(async ([, fault]: Named) => {
      for (const { heldUntil, electedAt } of await handovers(fault, THIRD_MS)) {
        expect(heldUntil).toBeLessThan(electedAt);
      }
    }),
  );

  // Some leases of this length outlive their nodes: only the wait for a whole lease keeps two leaders apart.
  it.for(named(CUT, KILLED))(
    'are over before others are elected, a whole long lease after the nodes are gone, when %s',
    concurrently(async ([, fault]: Named) => {
      for (const { heldUntil, goneAt, electedAt } of await handovers(fault, LONG_MS)) {
        expect(heldUntil).toBeLessThan(electedAt);
        expect(electedAt - goneAt).toBeGreaterThan(LONG_MS);
      }
    }),
  );
});

/** Lets each holder lead and another candidate follow because of the fault, and returns the times of each. */
async function handovers(fault: Fault, leaseMs: number) {
  const cast = await assemble();
  const waiting = await openLastingSession(cast);
  const elections = await holders(cast, leaseMs, async (session) => {
    const path = uniquePath('election');
    await session.create(path, { access: DELETE_BY_HOLDERS }); // Else another takes over from the holder before the node is gone.
    const first = new LeaderElector(session, path);
    const elected = nextEvent<[Term]>(first, 'elected');
    await first.start();
    const [term] = await elected;
    const second = new LeaderElector(waiting, path);
    const queued = nextEvent<[QueuePosition]>(second, 'waiting');
    const handover = nextEvent(second, 'elected').then(() => ({ at: clock.now(), held: term.isHeld() }));
    await second.start();
    const [{ ahead }] = await queued;
    expect(term.isHeld(), 'a lease that ended before the fault').toBe(true);
    return { heldUntil: watchHeld(term), handover, ...(await watchNode(waiting, `${path}/${ahead}`)) };
  });
  await fault.strike(cast);
  return Promise.all(
    elections.map(async ({ heldUntil, gone, handover }) => {
      const { at, held } = await handover;
      expect(held).toBe(false);
      return { heldUntil: heldUntil(), goneAt: await gone, electedAt: at };
    }),
  );
}

import type { Socket } from 'node:net';
import type { Worker } from 'node:worker_threads';
import type { GuardianLink } from '../../../src/cluster/dead-children/register-with-guardian.js';
import { QueuePlace } from '../../../src/election/queue-place.js';
import { NodeWithHeartbeat } from '../../../src/lease/node-with-heartbeat.js';
import { LockNode, OwnNode } from '../../../src/lease/own-node.js';
import { onAbort } from '../../../src/platform/async/lazy-abort-controller.js';
import { ignore } from '../../../src/platform/async/promises.js';
import type { Server as Address, Environment } from '../../../src/platform/injected-environment.js';
import type { Logger } from '../../../src/platform/logging/logger.js';
import { isLater, type LeaseInstant } from '../../../src/platform/time/clock.js';
import type { MachineInstant } from '../../../src/platform/time/machine-instant.js';
import type { TransactionPart } from '../../../src/session/protocol/multi-and-stats.js';
import { Session } from '../../../src/session/session.js';
import type { Random } from '../../support/seeded-random.js';
import type { Machine } from '../machine.js';
import { type Listening, Wire } from '../model/socket.js';
import type { Route } from '../network.js';
import type { Scheduler } from '../scheduler.js';
import type { RepeatChecker } from './repeat-checker.js';
import { SimulatedThread } from './thread.js';

export const CONNECT = '10.0.0.0:2181,10.0.0.1:2181,10.0.0.2:2181';

/** A log would cost more than all the rest. */
export const SILENT: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The environment of a simulated process: its clock, its random numbers, and three servers. */
export class SimulatedEnvironment implements Environment {
  readonly clock: Machine;
  readonly random: () => number;
  readonly uuid: () => string;
  /** The connections that this process has open. */
  readonly wires = new Set<Wire>();
  /** Its end of the channel to a guardian in its parent, if it has one. */
  link: GuardianLink | undefined;
  /** The session by which this process has taken a place last. */
  sessionId = 0n;
  /** The newest node of this process in each queue. */
  readonly nodes = new Map<string, OwnNode>();
  /** For the lock at each path: how many acquires are pending, or since when none is. */
  readonly acquiring = new Map<string, { count: number; endedAt: LeaseInstant }>();
  /** When the newest write was sent that has shown each node to be there, by the clock on the wall. */
  readonly provenAt = new WeakMap<OwnNode, number>();
  /** The sessions that this process has opened. */
  readonly sessions = new Set<Session>();
  /** When it opened the newest of them, by the clock on the wall. */
  sessionOpenedAt = 0;
  /** Called when the creation of a node was sent after the last acquire of that lock had been given up. */
  onUnwanted: () => void = () => undefined;
  /** Called when a claim has just been sent. */
  onClaim: () => void = () => undefined;
  /** Called when a term begins, or an attempt at one has ended, with the way and the outcome. */
  onTermTaken: (how: string) => void = () => undefined;
  /** The thread that holds its connections, if one does. */
  thread: SimulatedThread | undefined;
  /** Only of a process that may have such a thread. */
  startThread?: () => Worker;
  /** Called when that thread has extended a lease by a proof that was sent then. */
  onExtended: (sentAt: MachineInstant) => void = () => undefined;
  /** Looks at what leaves the process, if a thread holds its connections. */
  repeats: RepeatChecker | undefined;
  /** Called whenever a lease may have got longer. */
  onConfirmed: () => void = () => undefined;
  readonly #servers: readonly Listening[];
  readonly #routes: readonly Route[];
  readonly #scheduler: Scheduler;

  /** @param routes - to each of the servers */
  constructor(
    machine: Machine,
    random: Random,
    servers: readonly Listening[],
    routes: readonly Route[],
    scheduler: Scheduler,
  ) {
    this.clock = machine;
    this.random = () => random.next();
    this.uuid = () => random.uuid();
    this.#servers = servers;
    this.#routes = routes;
    this.#scheduler = scheduler;
  }

  /** From now on sessions may have `maxStallMs`. */
  allowThread(random: Random): void {
    this.startThread = () => {
      this.thread = new SimulatedThread(this, this.#scheduler, random);
      return this.thread as unknown as Worker;
    };
  }

  resolve(host: string): Promise<readonly string[]> {
    return Promise.reject(new Error(`${host} is no address`));
  }

  openSocket(server: Address): Socket {
    return this.openWire(this.clock, server).socket as unknown as Socket;
  }

  /** A connection that the main thread holds, or a thread of the process. */
  openWire(holder: Machine, { host }: Address): Wire {
    const index = Number(host.slice(host.lastIndexOf('.') + 1));
    const forget = (closed: Wire) => this.wires.delete(closed);
    const server = this.#servers[index] as Listening;
    const wire = new Wire(holder, server, this.#routes[index] as Route, this.#scheduler, forget);
    this.wires.add(wire);
    wire.onWritten = (bytes) => this.repeats?.written(wire, bytes);
    return wire;
  }
}

// ---- what is looked at from outside, and nothing is changed by it ----

for (const way of ['connect', 'open', 'takeOver'] as const) {
  const begin = Session[way] as (...how: unknown[]) => Promise<Session>;
  const note = (session: Session) => {
    const { environment } = session;
    if (!(environment instanceof SimulatedEnvironment)) return;
    environment.sessions.add(session);
    const { clock } = environment;
    environment.sessionOpenedAt = clock.watched(() => clock.wallTimeOf(clock.now()));
    onAbort(session.ended, () => environment.sessions.delete(session));
  };
  Object.assign(Session, {
    [way]: (...how: unknown[]) => {
      const beginning = begin.apply(Session, how);
      beginning.then(note, ignore);
      return beginning;
    },
  });
}

const { claim } = QueuePlace.prototype;
QueuePlace.prototype.claim = async function (step, signal) {
  const { environment } = this.contender.session;
  await claim.call(this, step, signal);
  if (step.instead === undefined || !(environment instanceof SimulatedEnvironment)) return;
  const { value } = this.record.known.record ?? {};
  const isOurs = value?.state === 'held' && value.node === this.contender.entry.node;
  environment.onTermTaken(
    `takeovers by lease: ${isOurs ? 'carried out' : 'not carried out, or in favour of another candidate'}`,
  );
};

const environments = new WeakMap<OwnNode, SimulatedEnvironment>();
const { extendLease } = OwnNode.prototype as unknown as Pick<Inner, 'extendLease'>;
const { prove } = NodeWithHeartbeat.prototype as unknown as Pick<Inner, 'prove'>;
const [lockNode, beatingNode] = [LockNode.of, NodeWithHeartbeat.of];

/** What only the nodes themselves may call. */
interface Inner {
  extendLease(sentAt: LeaseInstant): void;
  prove(parts?: readonly TransactionPart[]): Promise<unknown>;
}

LockNode.of = (session, path, sentAt) => {
  const node = lockNode.call(LockNode, session, path, sentAt);
  const environment = created(node, session, path, sentAt);
  // The creation of a lock's node begins a lease, before it is known here whose node it is.
  if (sentAt !== undefined) environment?.provenAt.set(node, environment.clock.wallTimeOfLease(sentAt));
  return node;
};

NodeWithHeartbeat.of = (session, path, heartbeatPath) => {
  const node = beatingNode.call(NodeWithHeartbeat, session, path, heartbeatPath);
  created(node, session, path);
  return node;
};

function created(
  node: OwnNode,
  session: Session,
  path: string,
  sentAt?: LeaseInstant,
): SimulatedEnvironment | undefined {
  const { environment } = session;
  if (!(environment instanceof SimulatedEnvironment)) return undefined;
  environments.set(node, environment);
  environment.sessionId = session.credentials.id;
  const queue = path.slice(0, path.lastIndexOf('/'));
  environment.nodes.set(queue, node);
  const acquiring = environment.acquiring.get(queue);
  if (acquiring?.count === 0 && sentAt !== undefined && isLater(sentAt, acquiring.endedAt))
    environment.onUnwanted();
  return environment;
}

Object.assign(NodeWithHeartbeat.prototype, {
  prove(this: NodeWithHeartbeat, parts: readonly TransactionPart[] = []) {
    const claiming = prove.call(this, parts);
    if (parts.length > 0) environments.get(this)?.onClaim();
    return claiming;
  },
});

Object.assign(OwnNode.prototype, {
  extendLease(this: OwnNode, sentAt: LeaseInstant): void {
    extendLease.call(this, sentAt);
    const environment = environments.get(this);
    environment?.provenAt.set(this, environment.clock.wallTimeOfLease(sentAt));
    environment?.onConfirmed();
  },
});

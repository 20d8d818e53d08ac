import { NodeLostError, NoNodeError } from '../errors.js';
import { NodeWithHeartbeat } from '../lease/node-with-heartbeat.js';
import { LockNode, type OwnNode } from '../lease/own-node.js';
import type { Abortable } from '../platform/async/lazy-abort-controller.js';
import { ignore } from '../platform/async/promises.js';
import type { LeaseInstant } from '../platform/time/clock.js';
import { LostRequest } from '../session/connection/connection-end.js';
import type { Reply } from '../session/connection/reply.js';
import { isUnanswered } from '../session/operations.js';
import type { Access } from '../session/protocol/acl.js';
import type { Session } from '../session/session.js';
import { Contender, SentListing } from './contender.js';
import {
  type EntryParser,
  entryPrefix,
  heartbeatNodeFor,
  type Purpose,
  parseLockEntry,
  type QueueEntry,
  queueOf,
} from './names-and-order.js';

const NO_DATA = Buffer.alloc(0);

export interface JoinOptions {
  /** The node's data. @default empty */
  readonly data?: Buffer;
  /** A uuid that was never used before. @default a new one from the session's environment */
  readonly id?: string;
  /** How the contender wants to hold the lock. @default 'lock' */
  readonly purpose?: Purpose;
  /** The access list of the node, and of the queue's path if the join creates that. @default the session's `access` */
  readonly access?: Access | undefined;
  /** Which children count as contenders. @default children with names as Conclave and Curator give them */
  readonly parse?: EntryParser;
  /** Once it has aborted, no node is created. The join still looks for a node that may exist already. */
  readonly signal?: Abortable;
}

/**
 * Joins the queue at its end. Creates the queue's path if it is missing. A caller that stops waiting aborts the signal and calls
 * {@link withdraw} with the promise, since the node may exist already.
 * @throws the signal's reason if it aborts while there is certainly no node
 * @throws RequestTooLargeError if the server ended the connection each time that it was asked to create the node; there is no node then
 * @throws UnprotectedPathError if the queue's path isn't protected, the error that ended the session, or a server's `ZooKeeperError`
 */
export function joinQueue(
  session: Session,
  queue: string,
  options: JoinOptions = {},
): Promise<Contender<LockNode>> {
  const uuid = options.id ?? session.environment.uuid();
  return join(session, queue, options, { uuid, own: (path, sentAt) => LockNode.of(session, path, sentAt) });
}

/** As {@link joinQueue}, with a heartbeat node. One transaction creates both nodes. */
export function joinWithHeartbeats(
  session: Session,
  queue: string,
  options: JoinOptions & { readonly id: string },
): Promise<Contender<NodeWithHeartbeat>> {
  const heartbeatPath = `${queue}/${heartbeatNodeFor(options.id)}`;
  const own = (path: string) => NodeWithHeartbeat.of(session, path, heartbeatPath);
  return join(session, queue, options, { uuid: options.id, own, heartbeatPath });
}

/** The nodes of one contender. */
interface NodesToCreate<N> {
  readonly uuid: string;
  readonly heartbeatPath?: string;
  /** @param sentAt - when the creation was sent, if known */
  own(path: string, sentAt?: LeaseInstant): N;
}

async function join<N extends OwnNode>(
  session: Session,
  queue: string,
  { data = NO_DATA, access, purpose, signal, parse = parseLockEntry }: JoinOptions,
  nodes: NodesToCreate<N>,
): Promise<Contender<N>> {
  const { uuid, heartbeatPath } = nodes;
  const prefix = `${queue}/${entryPrefix(uuid, purpose)}`;
  const request = new LostRequest();
  for (;;) {
    // In the usual case the code doesn't await anything here, so the request is written before any other work.
    if (session.state.name !== 'connected') await session.whenConnected(signal);
    const checking = session.guard.check(queue, access);
    if (checking !== undefined) await checking;
    signal?.throwIfAborted();
    try {
      const creating =
        heartbeatPath === undefined
          ? session.createSequential(prefix, data, access)
          : createBoth(session, { prefix, data, access, heartbeatPath });
      // Both requests are sent together. The server carries out a session's requests in order, so the listing includes the new node.
      const listing = new SentListing(session.listChildren(queue, true));
      const confirming = session.guard.confirm(queue);
      confirming?.catch(ignore); // `stayIf` handles it, unless the creation fails.
      const { value: path, zxid: czxid, sentAt } = await creating;
      const created = { node: nodes.own(path, sentAt), entry: entryOf(path), czxid, listing };
      const contender = new Contender(session, queue, parse, created);
      if (confirming !== undefined) await stayIf(confirming, contender);
      return contender;
    } catch (error) {
      if (error instanceof NoNodeError) {
        session.guard.forget(queue);
        await session.ensurePath(queue, access);
      } else if (!isUnanswered(error)) throw error;
      else {
        const found = await findCreated(session, queue, parse, nodes);
        if (found === undefined) {
          request.countLoss(error);
          continue;
        }
        await stayIf(session.guard.confirm(queue), found);
        return found;
      }
    }
  }
}

/** For a join whose result is no longer needed: leaves as soon as the node exists. Never rejects. */
export async function withdraw(joining: Promise<Contender>): Promise<void> {
  await joining.then((contender) => contender.leave()).catch(ignore); // There was never a node, or the session is over.
}

/** Leaves the queue if its path isn't protected. @throws as {@link joinQueue} does */
async function stayIf(confirmed: Promise<void> | undefined, contender: Contender): Promise<void> {
  try {
    await confirmed;
  } catch (error) {
    await contender.leave();
    throw error;
  }
}

/** Creates the contender's node and its heartbeat node, both or none. As `Session.createSequential`. */
async function createBoth(
  session: Session,
  nodes: { prefix: string; data: Buffer; access: Access | undefined; heartbeatPath: string },
): Promise<Reply<string>> {
  const { prefix, data, heartbeatPath } = nodes;
  const access = nodes.access !== undefined && { access: nodes.access };
  const reply = await session.commit([
    { kind: 'create', path: prefix, mode: 'ephemeral-sequential', data, ...access },
    { kind: 'create', path: heartbeatPath, mode: 'ephemeral', ...access },
  ]);
  return { ...reply, value: reply.value[0]?.path as string };
}

/** After a creation whose reply was lost: finds the node, or makes sure that the node can't appear later. */
async function findCreated<N extends OwnNode>(
  session: Session,
  queue: string,
  parse: EntryParser,
  { uuid, own }: NodesToCreate<N>,
): Promise<Contender<N> | undefined> {
  try {
    // This commits a write over the current connection. The servers have carried out requests from an earlier connection of this
    // session before it, or they refuse them (the session has moved). A read after it shows the outcome.
    await session.retryUntilAnswered(() => session.commit([{ kind: 'check', path: queue }]));
    const children = await session.retryUntilAnswered(() => session.getChildren(queue));
    for (const entry of queueOf(children, parseLockEntry).filter((each) => each.id === uuid)) {
      const path = `${queue}/${entry.node}`;
      const stat = await session.retryUntilAnswered(() => session.exists(path));
      // Never adopt a node of another session: it goes when that session ends (CURATOR-498, -696).
      if (stat !== undefined && session.owns(stat))
        return new Contender(session, queue, parse, { node: own(path), entry, czxid: stat.czxid });
    }
    return undefined;
  } catch (error) {
    if (error instanceof NoNodeError) return undefined;
    throw error;
  }
}

function entryOf(path: string): QueueEntry {
  const entry = parseLockEntry(path.slice(path.lastIndexOf('/') + 1));
  if (entry === undefined)
    throw new NodeLostError(`the server named a contender ${path}, which can't be read`);
  return entry;
}

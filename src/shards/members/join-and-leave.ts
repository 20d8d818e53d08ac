import { candidateUuid } from '../../election/candidates/candidate-uuid.js';
import { NodeExistsError, NoNodeError, ZooKeeperError } from '../../errors.js';
import type { Abortable } from '../../platform/async/lazy-abort-controller.js';
import { ignore } from '../../platform/async/promises.js';
import type { Contender } from '../../queue/contender.js';
import { joinWithHeartbeats } from '../../queue/join-queue.js';
import { parseEntry } from '../../queue/names-and-order.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { type MemberData, serializeMember } from '../stored/data-formats.js';
import type { GroupPaths } from '../stored/group-paths.js';

const NO_DATA = Buffer.alloc(0);

/** The part of a transaction that tells all who watch the members that some have come or gone: nothing else does. */
export function announcement(paths: GroupPaths): TransactionPart {
  return { kind: 'set', path: paths.members, data: NO_DATA };
}

/** The part of a transaction that says that this member no longer acts. @param node - the name of the member's node */
export function tombstone(paths: GroupPaths, node: string): TransactionPart {
  return { kind: 'create', path: paths.tombstoneOf(node), data: NO_DATA };
}

/**
 * Becomes a member: an ephemeral node in the queue of members, with heartbeats, and an empty plan beside it, which comes first. It owns
 * nothing yet.
 * @throws the signal's reason, what ended the session, or a server's refusal. Then nothing stays for longer than the session lasts
 */
export async function joinGroup(
  session: Session,
  paths: GroupPaths,
  { data, signal }: { readonly data: MemberData; readonly signal: Abortable },
): Promise<Contender> {
  if (session.state.name !== 'connected') await session.whenConnected(signal); // The lease is granted then.
  const id = candidateUuid(session.environment.uuid(), 0, session.leaseMs);
  const plan = { mode: 'ephemeral', data: NO_DATA } as const;
  const creating = session.retryUntilAnswered(() => session.create(`${paths.plans}/${id}`, plan), signal);
  await creating.catch((error: unknown) => {
    if (!(error instanceof NodeExistsError)) throw error; // By a write whose reply was lost: the uuid is its own.
  });
  const join = { id, data: serializeMember(data), parse: parseEntry, signal };
  const member = await joinWithHeartbeats(session, paths.members, join);
  const { node } = member;
  try {
    node.watch();
    node.keepAlive();
    await node.renew(signal);
    await session.retryUntilAnswered(() => session.commit([announcement(paths)]), signal);
    return member;
  } catch (error) {
    await leaveGroup(session, paths, member, false); // Others would plan for it.
    throw error;
  }
}

/** The node that a member writes as it leaves, if it is to come back. */
export interface HomeNode {
  readonly path: string;
  readonly data: Buffer;
}

/**
 * Leaves for good. Its work has settled. Resolves when its node is gone, or the session is over. Never rejects.
 * @param mayBeNamed - a record may name it still: its tombstone says that it no longer acts
 * @param home - written in the same transaction, if the member's node was there until then. A member that can't write it leaves without
 */
export async function leaveGroup(
  session: Session,
  paths: GroupPaths,
  member: Contender,
  mayBeNamed: boolean,
  home?: HomeNode,
): Promise<void> {
  const { node, entry } = member;
  const wasGone = node.isGone;
  // The node may still be there: the member gave it up because its plan was deleted, for example, or its heartbeat node refused. Others
  // would plan for it.
  if (wasGone) await node.deleteForSure();
  const parts = (): TransactionPart[] => [
    ...(wasGone ? [] : node.deletions),
    ...(mayBeNamed ? [tombstone(paths, entry.node)] : []),
    announcement(paths),
  ];
  const write = (more: readonly TransactionPart[]) =>
    session.retryUntilAnswered(() => session.commit([...parts(), ...more]));
  await member.leave(() => (home === undefined || wasGone ? write([]) : writeWithHome(session, home, write)));
  // They go with the session, which may last.
  const remove = (path: string) => session.retryUntilAnswered(() => session.remove(path)).catch(ignore);
  await Promise.all([remove(paths.planOf(entry.node)), remove(paths.ownedOf(entry.node))]);
}

/** The home may be there from an earlier time. After that the planner may remove it at any moment. */
async function writeWithHome(
  session: Session,
  { path, data }: HomeNode,
  write: (more: readonly TransactionPart[]) => Promise<unknown>,
): Promise<void> {
  for (const kind of ['create', 'set', 'create'] as const) {
    try {
      await write([{ kind, path, data }]);
      return;
    } catch (error) {
      if (!(error instanceof ZooKeeperError) || error.path !== session.absolute(path)) throw error;
      if (error instanceof NodeExistsError || (kind === 'set' && error instanceof NoNodeError)) continue;
      session.logger.warn(
        { err: error },
        'a member left its group of shards, but the servers did not write its home',
      );
      break;
    }
  }
  await write([]);
}

import { abortable } from '../../platform/async/promises.js';
import { heartbeatPathOf, parseEntry } from '../../queue/names-and-order.js';
import { isUnanswered } from '../../session/operations.js';
import type { TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { isOutdated } from '../../session/versioned-records.js';
import { announcement, tombstone } from '../../shards/members/join-and-leave.js';
import { GroupPaths } from '../../shards/stored/group-paths.js';

/** A member of a group of shards, as its process has reported it. Both paths are absolute. */
export interface ReportedMember {
  readonly group: string;
  /** The member's node. */
  readonly node: string;
}

/**
 * Writes a tombstone: the member of a dead process no longer acts, so others may claim its shards at once. Deletes the member's nodes
 * in the same transaction. From then on the servers refuse requests that the member had sent.
 * @param session - the member's own session, which the guardian has taken over
 * @returns whether it wrote the tombstone; `false`: the member had left, or its node was gone
 * @throws an error if the session has no such member, a server's refusal, the error that ended the session, or the signal's reason
 */
export async function buryMember(
  session: Session,
  { group, node }: ReportedMember,
  signal: AbortSignal,
): Promise<boolean> {
  const paths = new GroupPaths(group);
  const name = node.slice(paths.members.length + 1);
  const wrong = (why: string) =>
    new Error(
      `no tombstone was written in ${group}: ${why}. The process that reported it is faulty, or isn't allowed to report it`,
    );
  if (node !== `${paths.members}/${name}` || parseEntry(name)?.id === undefined)
    throw wrong(`${node} is not the node of a member`);
  for (;;) {
    const look = (path: string) => session.retryUntilAnswered(() => session.exists(path), signal);
    const heartbeatNode = heartbeatPathOf(node);
    const [stat, heartbeat] = await Promise.all([look(node), look(heartbeatNode)]);
    if (stat === undefined) return false;
    if (!session.owns(stat)) throw wrong(`${node} belongs to another session`);
    const deletions: TransactionPart[] = [
      { kind: 'delete', path: node },
      ...(heartbeat === undefined ? [] : [{ kind: 'delete', path: heartbeatNode } as const]),
    ];
    try {
      await abortable(session.commit([...deletions, tombstone(paths, name), announcement(paths)]), signal);
      return true;
    } catch (error) {
      // The next look shows what has changed since this one, and whether the transaction was carried out.
      if (isUnanswered(error) || isOutdated(error)) continue;
      throw error;
    }
  }
}

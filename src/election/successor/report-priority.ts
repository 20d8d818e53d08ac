import { describe, ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { parseRecord } from '../nodes/record.js';
import { writePriorityMark } from '../nodes/request-writer.js';

/**
 * Reports to the leader that this contender, which has a priority, is in the queue. It writes a mark on the leader's
 * node. If the session may not write that node, the queue decides.
 *
 * If the leader's record was written after this contender's node was created, no mark is needed: that leader lists the
 * queue after its claim. Each read here follows the creation in the same session, so it shows at least the state of
 * that moment. If it shows a record that is vacant, or held by a node that is gone, the candidate that claims next will
 * see this contender.
 *
 * @throws the error that ended the session
 */
export async function reportPriority({ session, queue, czxid }: Contender): Promise<void> {
  let gone: string | undefined;
  try {
    for (;;) {
      const { data, stat } = await session.retryUntilAnswered(() => session.getData(queue));
      const record = parseRecord(data, stat.version);
      if (record.state !== 'held' || record.node === gone || stat.mzxid > czxid) return;
      if ((await writePriorityMark(session, `${queue}/${record.node}`)) !== 'gone') return;
      gone = record.node;
    }
  } catch (error) {
    if (!(error instanceof ZooKeeperError)) throw error;
    session.logger.debug({ cause: describe(error) }, 'could not report a priority to the leader');
  }
}

import { describe, ZooKeeperError } from '../../errors.js';
import type { Contender } from '../../lock/queue/contender.js';
import { parseRecord } from '../nodes/record.js';
import { writePriorityMark } from '../nodes/request-writer.js';

/**
 * Reports to the leader that `joiner`, which has a priority, is in the queue: by a mark on the leader's node. If this
 * session may not write that node, the queue decides. A leader whose record was written after the joiner's node was created needs
 * no mark: it lists the queue itself, after that. Each read here comes after the joiner's creation in the same session,
 * so it shows at least what was there then: a record that is vacant, or held by a node that is gone, will be claimed by a
 * candidate that sees the joiner. @throws what ended the session
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

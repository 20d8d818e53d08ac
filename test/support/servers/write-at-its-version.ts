import { vi } from 'vitest';
import type { Session } from '../../../src/session/session.js';
import type { EmbeddedZooKeeper } from '../../../src/testing/index.js';
import { type Znode, ZnodeTree } from '../../../src/testing/state/znode-tree.js';

/** Writes a node that keeps its version, as in a restored backup in which another client has written it up to that version since. */
export async function writeAtItsVersion(
  server: EmbeddedZooKeeper,
  writer: Session,
  path: string,
  data: Buffer,
): Promise<void> {
  const get = vi.spyOn(ZnodeTree.prototype, 'get');
  server.data(path);
  const node = get.mock.results.at(-1)?.value as Znode;
  get.mockRestore();
  const { version } = node;
  await writer.setData(path, data);
  node.version = version;
}

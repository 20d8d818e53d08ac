import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { startZooKeeper } from '../../../tools/zookeeper/ensemble.mjs';
import { Writer } from '../wire/jute.mjs';

const CREATE = 1;
const DELETE = 2;
const END_OF_RECORD = Buffer.from('B');

/**
 * A server with a node at each of these paths that seems to have had many children: the next sequential one gets the number
 * `next`. The server reads this from a transaction log, as at a restart.
 */
export async function startWithSequenceNumbers(
  paths: readonly string[],
  next: number,
): Promise<{ connectString: string; stop: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'conclave-sequence-'));
  await mkdir(join(folder, 'version-2'));
  await writeFile(join(folder, 'version-2', 'log.1'), transactionLog(paths, next));
  const settings = { dataDir: folder, 'snapshot.trust.empty': 'true' };
  const { connectString, stop } = await startZooKeeper({ settings });
  const stopAndRemove = async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { connectString, stop: stopAndRemove };
}

/** The log creates each path, and below it a child after which the parent's counter is at `next`. Then it deletes the child. */
function transactionLog(paths: readonly string[], next: number): Buffer {
  const log = new Writer().raw(Buffer.from('ZKLG')).int(2).long(0n);
  let zxid = 0;
  const add = (type: number, body: Buffer) => {
    zxid++;
    const header = new Writer().long(1n).int(zxid).long(BigInt(zxid)).long(0n).int(type);
    const bytes = header.raw(body).done();
    log
      .long(BigInt(adler32(bytes)))
      .buffer(bytes)
      .raw(END_OF_RECORD);
  };
  const create = (path: string, parentsCounter: number) => {
    const body = new Writer().string(path).buffer(Buffer.alloc(0));
    // Every client may do anything, and the node isn't ephemeral.
    body.int(1).int(31).string('world').string('anyone').bool(false);
    add(CREATE, body.int(parentsCounter).done());
  };
  for (const [index, path] of paths.entries()) {
    create(path, index + 1);
    create(`${path}/x`, next);
    add(DELETE, new Writer().string(`${path}/x`).done());
  }
  return log.done();
}

/** The checksum of RFC 1950, with which zlib ends its output. */
const adler32 = (bytes: Buffer) => deflateSync(bytes).subarray(-4).readUInt32BE();

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startZooKeeper } from '../../tools/zookeeper/ensemble.mjs';

const CREATE = 1;
const DELETE = 2;
const END_OF_RECORD = Buffer.from('B');

/**
 * A server with a node at each of these paths that seems to have had nearly 2^31 children: the next sequential one gets
 * the number `next`. It is told so by a transaction log, as a server reads it that starts again.
 */
export async function startWithWornQueues(
  paths: readonly string[],
  next: number,
): Promise<{ connectString: string; stop: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'conclave-worn-'));
  await mkdir(join(folder, 'version-2'));
  await writeFile(join(folder, 'version-2', 'log.1'), transactionLog(paths, next));
  const settings = { dataDir: folder, 'snapshot.trust.empty': 'true' };
  const { connectString, stop } = await startZooKeeper({ settings });
  const stopAndForget = async () => {
    await stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { connectString, stop: stopAndForget };
}

/** Each path is created, and below it a child after which its parent's counter stands at `next`; and that is deleted. */
function transactionLog(paths: readonly string[], next: number): Buffer {
  let zxid = 0;
  const transaction = (type: number, body: Buffer) => {
    zxid++;
    const header = Buffer.concat([int64(1), int32(zxid), int64(zxid), int64(0), int32(type)]);
    const bytes = Buffer.concat([header, body]);
    return Buffer.concat([int64(adler32(bytes)), int32(bytes.length), bytes, END_OF_RECORD]);
  };
  const create = (path: string, parentsCounter: number) => {
    const everybody = [int32(1), int32(31), string('world'), string('anyone')];
    const [noData, persistent] = [int32(0), Buffer.from([0])];
    const body = [string(path), noData, ...everybody, persistent, int32(parentsCounter)];
    return transaction(CREATE, Buffer.concat(body));
  };
  const worn = paths.flatMap((path, index) => [
    create(path, index + 1),
    create(`${path}/x`, next),
    transaction(DELETE, string(`${path}/x`)),
  ]);
  const [version, database] = [int32(2), int64(0)];
  return Buffer.concat([Buffer.from('ZKLG'), version, database, ...worn]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([int32(bytes.length), bytes]);
}

/** The checksum of RFC 1950. */
function adler32(bytes: Buffer): number {
  const modulus = 65_521;
  let [a, b] = [1, 0];
  for (const byte of bytes) {
    a = (a + byte) % modulus;
    b = (b + a) % modulus;
  }
  return b * 2 ** 16 + a;
}

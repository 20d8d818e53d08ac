/**
 * A server that answers ZooKeeper's handshake, and each request with the same node, as fast as possible, so that the figures
 * are those of the client. Prints its port, and ends with its parent.
 */
import { createServer } from 'node:net';

const DATA_BYTES = 100;
const reply = Buffer.alloc(4 + 16 + 4 + DATA_BYTES + 68);
reply.writeInt32BE(reply.length - 4, 0);
reply.writeInt32BE(DATA_BYTES, 20);
const greeting = Buffer.alloc(4 + 36);
greeting.writeInt32BE(greeting.length - 4, 0);
greeting.writeInt32BE(60_000, 8);
greeting.writeInt32BE(1, 16);
greeting.writeInt32BE(16, 20);

const server = createServer((socket) => {
  let rest = Buffer.alloc(0);
  let greeted = false;
  socket.setNoDelay(true).on('error', () => undefined);
  socket.on('data', (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    /** @type {Buffer[]} */
    const answers = [];
    let offset = 0;
    while (bytes.length - offset >= 4) {
      const end = offset + 4 + bytes.readInt32BE(offset);
      if (end > bytes.length) break;
      const answer = Buffer.from(greeted ? reply : greeting);
      if (greeted) answer.writeInt32BE(bytes.readInt32BE(offset + 4), 4);
      greeted = true;
      answers.push(answer);
      offset = end;
    }
    rest = bytes.subarray(offset);
    socket.write(Buffer.concat(answers));
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(/** @type {import('node:net').AddressInfo} */ (server.address()).port);
});
process.stdin.resume().on('end', () => process.exit());

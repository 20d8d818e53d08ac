/**
 * Prints a line as soon as ready-made packets have joined an election and claimed its term. It sends as few requests as Conclave, and
 * uses no library. Arguments: as for first-elected.
 */
import { randomUUID } from 'node:crypto';
import {
  creation,
  EPHEMERAL,
  EPHEMERAL_SEQUENTIAL,
  isRefused,
  listing,
  part,
  pathIn,
  reading,
  transaction,
  versionIn,
} from '../../peers/packets.mjs';
import { openWire } from '../../peers/wire.mjs';

const HELD = Buffer.alloc(200, ' '); // As long as an election's record with a leader.

const [servers = '', path = '', sessionTimeoutMs = ''] = process.argv.slice(2);
const wire = await openWire(servers, Number(sessionTimeoutMs));
const uuid = randomUUID();
const joining = Buffer.concat([
  creation(`${path}/_c_${uuid}-lock-`, EPHEMERAL_SEQUENTIAL),
  listing(path),
  reading(path),
]);
const [created, , record] = /** @type {[Buffer, Buffer, Buffer]} */ (await wire.ask(3, joining));
const claim = transaction(
  part.check(pathIn(created)),
  part.set(path, HELD, versionIn(record)),
  part.create(`${path}/_h_${uuid}`, EPHEMERAL),
);
const [claimed] = /** @type {[Buffer]} */ (await wire.ask(1, claim));
if (!isRefused(claimed)) console.log('claimed');
wire.socket.destroy();

/**
 * Prints a line as soon as ready-made packets have joined an election and claimed its term. It sends as few requests as Conclave, and
 * uses no library. Arguments: as for first-elected.
 */
import { randomUUID } from 'node:crypto';
import {
  EPHEMERAL,
  isRefused,
  listing,
  part,
  reading,
  transaction,
  versionIn,
} from '../../peers/packets.mjs';
import { openWire } from '../../peers/wire.mjs';

const HELD = Buffer.alloc(200, ' '); // As long as an election's record with a leader.

const [servers = '', path = '', sessionTimeoutMs = ''] = process.argv.slice(2);
const wire = await openWire(servers, Number(sessionTimeoutMs));
const uuid = randomUUID();
const [record] = /** @type {[Buffer]} */ (await wire.ask(2, Buffer.concat([reading(path), listing(path)])));
const claim = transaction(
  part.create(`${path}/_c_${uuid}-lock-0000000000`, EPHEMERAL),
  part.create(`${path}/_h_${uuid}`, EPHEMERAL),
  part.set(path, HELD, versionIn(record)),
);
const [claimed] = /** @type {[Buffer]} */ (await wire.ask(1, claim));
if (!isRefused(claimed)) console.log('claimed');
wire.socket.destroy();

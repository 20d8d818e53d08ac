/**
 * A candidate that sends ready-made packets, and does nothing else: the lower bound for a guarded failover. It leads if the election
 * has no other candidate. Otherwise it waits until its predecessor's node is gone, and reads the record. Arguments: servers, path, session timeout.
 *
 * It reports to its parent `joined`, with its nodes and the credentials that take its session over, and `electedAt`.
 */
import { randomUUID } from 'node:crypto';
import { now } from '../../harness/clock.mjs';
import {
  creation,
  EPHEMERAL,
  EPHEMERAL_SEQUENTIAL,
  listing,
  nearestAhead,
  PERSISTENT,
  pathIn,
  reading,
  watching,
} from '../../peers/packets.mjs';
import { openWire } from '../../peers/wire.mjs';

const [servers = '', path = '', sessionTimeoutMs = ''] = process.argv.slice(2);
const wire = await openWire(servers, Number(sessionTimeoutMs));
const uuid = randomUUID();
await wire.ask(1, creation(path, PERSISTENT)); // Fails if the node exists.
const joining = Buffer.concat([creation(`${path}/_c_${uuid}-lock-`, EPHEMERAL_SEQUENTIAL), listing(path)]);
const [created, listed] = /** @type {[Buffer, Buffer]} */ (await wire.ask(2, joining));
const node = pathIn(created);
const heartbeatNode = `${path}/_h_${uuid}`;
await wire.ask(1, creation(heartbeatNode, EPHEMERAL));
const ahead = nearestAhead(listed, Buffer.from(node));
const gone = wire.event();
if (ahead !== undefined) await wire.ask(1, watching(`${path}/${ahead}`));
const { id, password } = wire.session;
const session = { id: id.toString('hex'), password: password.toString('hex') };
process.send?.({ joined: { node, heartbeatNode, session } });
if (ahead !== undefined) {
  await gone;
  await wire.ask(1, reading(path));
}
process.send?.({ electedAt: now() });

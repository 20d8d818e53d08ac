/** Prints a line as soon as its node is the first one: an election without a library. Arguments: as for first-elected. */
import { RawClient } from '../../strategies/raw-client.mjs';

const [connect = '', path = '', sessionTimeoutMs = ''] = process.argv.slice(2);
const client = await RawClient.open(connect, Number(sessionTimeoutMs));
const created = await client.createSequential(`${path}/candidate-`);
const [first] = (await client.children(path)).sort();
if (created === `${path}/${first}`) console.log('first');
await client.remove(created);
await client.close();

/** The caller's input: addresses, paths, data. */
import assert from 'node:assert/strict';
import { within } from '../../support/waiting.mjs';
import { codeOf } from '../support/code-of.mjs';

/** @import { Scenario, World } from '../support/contract.js' */

const ONE_MIB = 2 ** 20;

/** @type {Scenario[]} */
export const input = [
  {
    id: '14a',
    name: 'connection string: a port that can not be is refused',
    broken: /RangeError .*ERR_SOCKET_BAD_PORT/,
    async run(world) {
      await refused(world, '127.0.0.1:99999');
    },
  },
  {
    id: '14b',
    name: 'connection string: blanks around a server do no harm',
    broken: /did not connect within 4000 ms/,
    async run(world) {
      const { opened } = world.begin(world.connectString.replace(/^|,/g, '$& '));
      const client = await within(4000, opened, 'the client did not connect');
      await client.exists(world.path);
    },
  },
  {
    id: '14c',
    name: 'connection string: a chroot behind each server is refused',
    broken: /was accepted/,
    async run(world) {
      await refused(world, `${world.connectString}/a,${world.connectString}/a`);
    },
  },
  {
    id: '14d',
    name: 'connection string: an IPv6 address without brackets is refused',
    broken: /was (not refused|accepted)/,
    async run(world) {
      await refused(world, '::1:2181');
    },
  },
  {
    id: '18a',
    name: 'synchronous throws: a path that can not be is a rejection',
    broken: /threw at its caller/,
    async run(world) {
      const client = await world.open(world.connectString);
      /** @type {Promise<unknown>} */
      let reading;
      try {
        reading = client.getData('no-slash');
      } catch (error) {
        assert.fail(`the client threw at its caller: ${error}`);
      }
      await assert.rejects(reading);
    },
  },
  {
    id: '18b',
    name: 'synchronous throws: data that no server takes are refused with a reason',
    broken: /refused with CONNECTION_LOSS/,
    async run(world) {
      const proxy = await world.proxy();
      const client = await world.open(proxy.connectString);
      const creating = client.create(world.path, { mode: 'ephemeral', data: Buffer.alloc(ONE_MIB) });
      const code = await codeOf(creating);
      assert.equal(code, 'INVALID_OPTION', `1 MiB was refused with ${code}`);
      assert.ok(proxy.accepted === 1 && proxy.inUse, 'the connection was lost over it');
    },
  },
];

/**
 * Checks that such a connect string is refused.
 *
 * @param {World} world
 * @param {string} connectString
 */
async function refused(world, connectString) {
  const { opened } = world.begin(connectString);
  const outcome = opened.then(
    () => 'accepted',
    (error) => error.code,
  );
  const got = await within(4000, outcome, `'${connectString}' was not refused`);
  assert.equal(got, 'INVALID_OPTION', `'${connectString}' was ${got}`);
}

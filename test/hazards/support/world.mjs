import { randomUUID } from 'node:crypto';
import { Session } from 'conclave';
import { TcpProxy } from '../../support/faults/tcp-proxy.mjs';
import { until, within } from '../../support/waiting.mjs';
import { startFakeServer } from '../../support/wire/fake-server.mjs';

/** @import { Client, Subject, World } from './contract.js' */

/**
 * The surroundings of one scenario.
 *
 * @param {Subject} subject
 * @param {string} connectString
 * @returns {World & { end(): Promise<void> }}
 */
export function createWorld(subject, connectString) {
  /** @type {Client[]} */
  const clients = [];
  /** @type {Promise<Session> | undefined} */
  let observing;
  /** @type {World['begin']} */
  const begin = (servers, options) => {
    const opening = subject.begin(servers, options);
    // The scenario waits for it, or has a reason not to.
    opening.opened.then((client) => clients.push(client)).catch(() => undefined);
    return opening;
  };
  const path = `/hazard-${randomUUID()}`;
  const observer = async () => {
    observing ??= Session.connect(connectString, { sessionTimeoutMs: 60_000 });
    const session = await observing;
    await session.commit([{ kind: 'check', path: '/' }]); // Once this is committed, its server is up to date.
    return session;
  };
  return {
    connectString,
    path,
    begin,
    open: (servers, options) => begin(servers, options).opened,
    proxy: () => TcpProxy.start(connectString),
    fakeServer: startFakeServer,
    observer,
    async gone(ms, otherwise, node = path) {
      const session = await observer();
      await within(
        ms,
        until(async () => (await session.exists(node)) === undefined),
        otherwise,
      );
    },
    async end() {
      await Promise.all(clients.map((client) => client.close()));
      await (await observing)?.close();
    },
  };
}

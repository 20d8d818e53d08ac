import { describe, expect, it } from 'vitest';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { startProxy } from '../support/faults/start-proxy.js';
import type { TcpProxy } from '../support/faults/tcp-proxy.mjs';
import { SILENT } from '../support/silent-logger.mjs';
import { onTestFinished } from '../support/vitest/test-end.js';

/** A proxy in front of the server that all tests share, or of an embedded one. */
const SERVERS: Record<string, () => Promise<TcpProxy>> = {
  'the shared server': () => startProxy(),
  'the embedded server as 3.8': () => beforeEmbedded('3.8'),
  'the embedded server as 3.9': () => beforeEmbedded('3.9'),
};

async function beforeEmbedded(dialect: '3.8' | '3.9'): Promise<TcpProxy> {
  const server = await EmbeddedZooKeeper.start({ dialect, logger: SILENT });
  onTestFinished(() => server.stop());
  return startProxy(server.port);
}

describe.each(Object.entries(SERVERS))('with %s', (_, start) => {
  it('a watch fires whose event was lost with the link, right behind another event of the same transaction', async () => {
    const proxy = await start();
    const [watcher, writer] = [
      await openSession({}, proxy.connectString),
      await openSession({}, proxy.connectString),
    ];
    const path = uniquePath();
    await writer.create(path);
    await writer.create(`${path}/child`);
    const heard: string[] = [];
    const notified = Promise.all(
      [`${path}/child`, path].map(
        (each) =>
          new Promise<void>((resolve, reject) => {
            const onChange = (change: string) => {
              heard.push(`${change} ${each}`);
              resolve();
            };
            watcher.getData(each, { onChange }).catch(reject);
          }),
      ),
    );
    await watcher.exists(path); // Both watches are set.
    const cut = proxy.endBehindEvent(`${path}/child`);
    await writer.commit([
      { kind: 'delete', path: `${path}/child` },
      { kind: 'set', path, data: Buffer.from('x') },
    ]);
    await cut;
    await notified;
    expect(heard).toEqual([`deleted ${path}/child`, `changed ${path}`]);
  });
});

import { describe, expect, it } from 'vitest';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { startProxy } from '../support/faults/start-proxy.js';
import type { TcpProxy } from '../support/faults/tcp-proxy.mjs';
import { startEmbedded } from '../support/servers/embedded.js';
import { deferred } from '../support/waiting.mjs';

/** A proxy in front of the server that all tests share, or of an embedded server. */
const SERVERS: Record<string, () => Promise<TcpProxy>> = {
  'the shared server': () => startProxy(),
  'the embedded server as 3.8': () => beforeEmbedded('3.8'),
  'the embedded server as 3.9': () => beforeEmbedded('3.9'),
};

async function beforeEmbedded(dialect: '3.8' | '3.9'): Promise<TcpProxy> {
  return startProxy((await startEmbedded({ dialect })).port);
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
    const both = deferred();
    for (const each of [`${path}/child`, path]) {
      const onChange = (change: string) => {
        heard.push(`${change} ${each}`);
        if (heard.length === 2) both.resolve();
      };
      await watcher.getData(each, { onChange });
    }
    const cut = proxy.endBehindEvent(`${path}/child`);
    await writer.commit([
      { kind: 'delete', path: `${path}/child` },
      { kind: 'set', path, data: Buffer.from('x') },
    ]);
    await cut;
    await both.promise;
    expect(heard).toEqual([`deleted ${path}/child`, `changed ${path}`]);
  });

  it('a watch of children fires whose event was lost with the link, and one of an unchanged list is set again', async () => {
    const proxy = await start();
    const [watcher, writer] = [
      await openSession({}, proxy.connectString),
      await openSession({}, proxy.connectString),
    ];
    const [changed, same] = [uniquePath('changed'), uniquePath('same')];
    for (const path of [changed, same]) await writer.create(path);
    const heard: string[] = [];
    const listAndWatch = async (path: string) => {
      const notified = deferred();
      const changedTo = (change: string) => {
        heard.push(`${change} ${path}`);
        notified.resolve();
      };
      await watcher.listAndWatch(path, { changed: changedTo });
      return notified;
    };
    const notified = [await listAndWatch(changed), await listAndWatch(same)] as const;
    const cut = proxy.endBehindEvent(changed);
    await writer.create(`${changed}/child`);
    await cut;
    await notified[0].promise;
    await watcher.whenConnected();
    await writer.create(`${same}/child`);
    await notified[1].promise;
    await writer.create(`${same}/other`); // Each watch fires once.
    await watcher.exists(same);
    expect(heard).toEqual([`changed ${changed}`, `changed ${same}`]);
  });
});

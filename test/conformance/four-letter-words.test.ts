import { describe, expect, it } from 'vitest';
import { create, getChildren, getData, MODE, remove } from '../support/wire/operations.js';
import { answerTo } from '../support/wire/raw-connection.js';
import { forEachServer, freshPath, type TestServer } from './support/servers.js';

/** The value of a name in an answer with `name<separator>value` in each line. */
async function fieldOf(server: TestServer, word: string, name: string, separator: string) {
  const lines = (await answerTo(server.port, word)).split('\n');
  return lines.find((line) => line.startsWith(name + separator))?.slice(name.length + separator.length);
}

forEachServer((server) => {
  describe('four letter words', () => {
    const srvr = (name: string) => fieldOf(server, 'srvr', name, ': ');
    const mntr = (name: string) => fieldOf(server, 'mntr', `zk_${name}`, '\t');

    it('ruok is answered imok, without a line end, and the connection ends', async () => {
      expect(await answerTo(server.port, 'ruok')).toBe('imok');
    });

    it('are taken with a line end as well', async () => {
      expect(await answerTo(server.port, 'ruok\n')).toBe('imok');
      expect(await answerTo(server.port, 'ruok\r\n')).toBe('imok');
    });

    it('srvr says its lines in order', async () => {
      const lines = (await answerTo(server.port, 'srvr')).trimEnd().split('\n');
      expect(lines.map((line) => line.slice(0, line.indexOf(':')))).toEqual([
        'Zookeeper version',
        'Latency min/avg/max',
        'Received',
        'Sent',
        'Connections',
        'Outstanding',
        'Zxid',
        'Mode',
        'Node count',
      ]);
    });

    it('srvr says that the server is alone', async () => {
      expect(await srvr('Mode')).toBe('standalone');
    });

    it('srvr says a version', async () => {
      expect(await srvr('Zookeeper version')).toMatch(server.isSince('3.9.0') ? /^3\.9\.\d/ : /^3\.8\.\d/);
    });

    it('srvr says the last zxid, in hexadecimal digits', async () => {
      const client = await server.connect();
      const { zxid } = await client.ask(create(freshPath()));
      expect(await srvr('Zxid')).toBe(`0x${zxid.toString(16)}`);
    });

    it('srvr and mntr count the nodes', async () => {
      const { client, path } = await server.withPath();
      const before = Number(await srvr('Node count'));
      await client.do(create(path));
      await client.do(create(`${path}/child`));
      expect(Number(await srvr('Node count'))).toBe(before + 2);
      expect(Number(await mntr('znode_count'))).toBe(before + 2);
      await client.do(remove(`${path}/child`));
      expect(Number(await mntr('znode_count'))).toBe(before + 1);
    });

    it('srvr and mntr count the connections, the one that asks included', async () => {
      const before = Number(await mntr('num_alive_connections'));
      const clients = [await server.connect(), await server.connect()];
      expect(Number(await mntr('num_alive_connections'))).toBe(before + clients.length);
      expect(Number(await srvr('Connections'))).toBe(before + clients.length);
    });

    it('mntr says a name and a value in each line, with a tabulator between', async () => {
      const lines = (await answerTo(server.port, 'mntr')).trimEnd().split('\n');
      for (const line of lines) expect(line).toMatch(/^zk_[^\t]+\t[^\t]+$/);
    });

    it.each([
      'version',
      'server_state',
      'avg_latency',
      'max_latency',
      'min_latency',
      'packets_received',
      'packets_sent',
      'num_alive_connections',
      'outstanding_requests',
      'znode_count',
      'watch_count',
      'ephemerals_count',
      'approximate_data_size',
    ])('mntr knows zk_%s', async (name) => {
      expect(await mntr(name)).toMatch(/\S/);
    });

    it('mntr says that the server is alone', async () => {
      expect(await mntr('server_state')).toBe('standalone');
    });

    it('mntr counts ephemeral nodes', async () => {
      const client = await server.connect();
      const before = Number(await mntr('ephemerals_count'));
      await client.do(create(freshPath(), { mode: MODE.ephemeral }));
      await client.do(create(freshPath(), { mode: MODE.ephemeral }));
      await client.do(create(freshPath()));
      expect(Number(await mntr('ephemerals_count'))).toBe(before + 2);
      await client.close();
      expect(Number(await mntr('ephemerals_count'))).toBe(before);
    });

    it('mntr counts watches of children too, and wchp does not', async () => {
      const { client, path } = await server.withNode();
      const before = Number(await mntr('watch_count'));
      await client.do(getChildren(path, true));
      expect(Number(await mntr('watch_count'))).toBe(before + 1);
      expect(await answerTo(server.port, 'wchp')).not.toContain(path);
      await client.close();
    });

    it('mntr counts watches, and wchp names their paths. They go with their connection', async () => {
      const { client, path } = await server.withNode();
      const before = Number(await mntr('watch_count'));
      await client.do(getData(path, true));
      await client.do(getData('/', true));
      expect(Number(await mntr('watch_count'))).toBe(before + 2);
      expect(await answerTo(server.port, 'wchp')).toContain(`${path}\n\t0x${client.id.toString(16)}\n`);
      await client.close();
      expect(Number(await mntr('watch_count'))).toBe(before);
    });

    it('that are unknown are a connection that ends without a word', async () => {
      expect(await answerTo(server.port, 'what')).toBe('');
    });

    it('are no words any more once a session has begun', async () => {
      const client = await server.connect();
      client.write(Buffer.from('ruok'));
      await client.closed;
    });
  });
});

/**
 * An embedded server in place of `java … zoo.cfg`, for suites that start a server so. It ends at once if the configuration has several
 * servers.
 */
import { readFileSync } from 'node:fs';
import { EmbeddedZooKeeper } from 'conclave/testing';

const settings = new Map(
  readFileSync(process.argv.at(-1) ?? '', 'utf8')
    .split('\n')
    .map((line) => /** @type {[string, string]} */ (line.split('='))),
);
if (settings.has('server.2')) process.exit(1);
await EmbeddedZooKeeper.start({ port: Number(settings.get('clientPort')), maxSessionTimeoutMs: 60_000 });
// Not all cases stop their server. It ends with the suite.
const suite = process.ppid;
setInterval(() => process.ppid === suite || process.exit(), 1000);

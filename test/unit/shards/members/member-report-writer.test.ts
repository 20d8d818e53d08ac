import { describe, expect, it, onTestFinished } from 'vitest';
import { ZooKeeperError } from '../../../../src/errors.js';
import { MemberReportWriter } from '../../../../src/shards/members/member-report-writer.js';
import { type MemberReport, NO_REPORT, parseReport } from '../../../../src/shards/stored/data-formats.js';
import { ShardList } from '../../../../src/shards/stored/shard-list.js';
import { PATHS, TIMES } from '../../../support/conclave/group-members.js';
import { setUpOwners } from '../../../support/conclave/shard-owners.js';

const KNOWN = { list: ShardList.of(8), version: 0 };
const refusing = (...refused: string[]): MemberReport => ({ ...NO_REPORT, refused });

async function setUp() {
  const { clock, server, join, outsider: other } = await setUpOwners();
  const { member } = await join('a');
  const errors: unknown[] = [];
  const writer = new MemberReportWriter(PATHS, member, KNOWN, (error) => errors.push(error));
  const path = PATHS.reportOf(member.entry.node);
  onTestFinished(() => clock.advanceUntil(writer.stop()));
  /** What its node says, and how often it was written. */
  const read = async () => {
    await clock.advance(10);
    const { data, stat } = await clock.advanceUntil(other.getData(path));
    return { report: parseReport(data, KNOWN), version: stat.version };
  };
  const announcements = async () => (await clock.advanceUntil(other.getData(PATHS.reports))).stat.version;
  return { clock, server, other, member, writer, errors, path, read, announcements };
}

describe('the writer of a member’s report', () => {
  it('makes its node when it first has something to say, and announces it', async () => {
    const { clock, server, writer, path, read, announcements } = await setUp();
    writer.write(NO_REPORT);
    await clock.advance(10);
    expect(server.paths(path)).toEqual([]);
    writer.write(refusing('1', '2'));
    expect(await read()).toEqual({ report: refusing('1', '2'), version: 0 });
    writer.write(NO_REPORT);
    expect(await read()).toEqual({ report: NO_REPORT, version: 1 });
    expect(await announcements()).toBe(2);
  });

  it('writes what is reported during a write together, and what its node says already not at all', async () => {
    const { clock, writer, read } = await setUp();
    for (const shard of ['1', '2', '3', '4']) writer.write(refusing(shard));
    expect(await read()).toEqual({ report: refusing('4'), version: 1 });
    writer.write(refusing('4'));
    await clock.advance(10);
    expect((await read()).version).toBe(1);
  });

  it('goes on with its node if the reply to its creation is lost', async () => {
    const { clock, server, writer, errors, read } = await setUp();
    const lost = server.swallowReply('multi', { path: /\/reports\// });
    writer.write(refusing('1'));
    await clock.advance(10);
    writer.write(refusing('2'));
    await clock.advance(TIMES.sessionTimeoutMs);
    expect(lost.hits).toBe(1);
    expect((await read()).report).toEqual(refusing('2'));
    expect(errors).toEqual([]);
  });

  it('makes its node anew if another client has deleted it, at its next report', async () => {
    const { clock, other, writer, path, read } = await setUp();
    writer.write(refusing('1'));
    await read();
    await clock.advanceUntil(other.remove(path));
    writer.write(refusing('2'));
    expect(await read()).toEqual({ report: refusing('2'), version: 0 });
  });

  it('tells of a refusal, and writes the newest report a lease later', async () => {
    const { clock, server, writer, errors, path, read } = await setUp();
    server.failWith('NO_AUTH', { operation: 'multi', path: /\/reports\//, times: 1 });
    writer.write(refusing('1'));
    await clock.advance(10);
    writer.write(refusing('2'));
    await clock.advance(10);
    expect([server.paths(path), errors]).toEqual([[], [expect.any(ZooKeeperError)]]);
    await clock.advance(TIMES.leaseMs);
    expect((await read()).report).toEqual(refusing('2'));
    expect(errors).toHaveLength(1);
  });

  it('writes its report anew when the group has other shards, if it has one', async () => {
    const { clock, server, writer, path, read, other } = await setUp();
    const names = { list: ShardList.of(['a', 'b', 'c']), version: 7 };
    writer.relist(names);
    await clock.advance(10);
    expect(server.paths(path)).toEqual([]);
    writer.write(refusing('c'));
    await read();
    writer.relist({ list: ShardList.of(['c', 'a']), version: 8 });
    await clock.advance(10);
    const { data } = await clock.advanceUntil(other.getData(path));
    expect(JSON.parse(String(data))).toMatchObject({ list: 8, refused: [[0, 0]] });
  });

  it('writes nothing once the member’s node is gone', async () => {
    const { clock, server, other, member, writer, errors, path } = await setUp();
    await clock.advanceUntil(other.remove(member.node.path));
    writer.write(refusing('1'));
    await clock.advance(10 * TIMES.leaseMs);
    expect([server.paths(path), errors]).toEqual([[], []]);
  });

  it('stops also while a server refuses, and leaves no node', async () => {
    const { clock, server, writer, path } = await setUp();
    writer.write(refusing('1'));
    await clock.advance(10);
    server.failWith('NO_AUTH', { operation: 'multi', path: /\/reports\//, times: 1 });
    writer.write(refusing('2'));
    await clock.advance(10);
    await clock.advanceUntil(writer.stop(), { timeoutMs: 1 });
    await clock.advanceUntil(writer.remove());
    expect(server.paths(path)).toEqual([]);
  });
});

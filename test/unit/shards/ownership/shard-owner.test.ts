import { describe, expect, it, vi } from 'vitest';
import { takeoverDelayMs } from '../../../../src/lease/failure-detector.js';
import type { TransactionPart } from '../../../../src/session/protocol/multi-and-stats.js';
import type { Session } from '../../../../src/session/session.js';
import { DELAY_MS, PATHS, TIMES } from '../../../support/conclave/group-members.js';
import { SOON_MS, setUpOwners } from '../../../support/conclave/shard-owners.js';
import { PERMISSION } from '../../../support/wire/operations.js';

const RECORD = PATHS.recordOf('0');
/** Longer than a lease, and not so long that the connection is given up. */
const LATE_MS = 2700;
const NEVER_THERE = '_c_0f8fad5b-d9cb-869f-8165-03e87728950e-lock-0000000099';

/** What happens at the servers right before they get the session's next write of the record of shard 0. */
function beforeNextWrite(session: Session, act: () => Promise<unknown>): void {
  const commit = session.commit.bind(session);
  let isDue = true;
  vi.spyOn(session, 'commit').mockImplementation(async (parts: readonly TransactionPart[]) => {
    if (isDue && parts.some(({ kind, path }) => kind === 'set' && path === RECORD)) {
      isDue = false;
      await act();
    }
    return await commit(parts);
  });
}

/**
 * A member that has owned shard 0 and given it back. `claimed` is what its claim wrote, and `old` how a server that is behind shows the
 * record.
 */
async function setUpReturned() {
  const owners = await setUpOwners();
  const { clock } = owners;
  const member = await owners.join('a');
  await member.follow(['0']);
  const claimed = owners.server.data(RECORD) as Buffer;
  const old = await clock.advanceUntil(member.session.getDataOfEach([RECORD]));
  await member.follow([]);
  return { ...owners, member, claimed, old };
}

describe('a claim of a shard', () => {
  it('that is answered when the lease is over begins no term: its record is read behind the next heartbeat', async () => {
    const { clock, server, join } = await setUpOwners();
    const member = await join('a');
    server.delay(LATE_MS, { only: 'multi', path: RECORD, times: 1 });
    member.owner.follow(['0']);
    await clock.advance(LATE_MS - 10);
    expect([member.told, member.owner.owned]).toEqual([[], []]);
    await clock.advance(SOON_MS);
    expect(member.told).toEqual(['acquired 0']);
    expect(member.acquired.map(({ number }) => number)).toEqual([1]);
  });

  it('that is answered when another member owns the shard by then begins no term', async () => {
    const { clock, server, join, bury, holder } = await setUpOwners();
    const [slow, other] = [await join('slow'), await join('other')];
    server.delay(LATE_MS, { only: 'multi', path: RECORD, times: 1 });
    slow.owner.follow(['0']);
    await clock.advance(DELAY_MS);
    expect(holder('0')).toBe('slow');
    await clock.advanceUntil(bury(slow));
    await other.follow(['0']);
    expect(other.told).toEqual(['acquired 0']);
    await clock.advance(2 * DELAY_MS);
    expect(slow.told).toEqual([]);
    expect(holder('0')).toBe('other');
  });

  it('is refused if the record was written since it was read', async () => {
    const { join, holder } = await setUpOwners();
    const [first, second] = [await join('a'), await join('b')];
    const acquired = new Promise<void>((resolve) => first.works(() => resolve()));
    beforeNextWrite(second.session, async () => {
      first.owner.follow(['0']);
      await acquired;
    });
    await second.follow(['0']);
    expect([first.told, second.told]).toEqual([['acquired 0'], []]);
    expect(holder('0')).toBe('a');
  });

  it('is tried again a lease later, not at once, while a server shows a version of the record that the others refuse', async () => {
    const { clock, join } = await setUpOwners();
    const [first, second] = [await join('a'), await join('b')];
    const old = await clock.advanceUntil(second.session.getDataOfEach([RECORD]));
    await first.follow(['0']);
    await first.follow([]);
    const read = vi.spyOn(second.session, 'getDataOfEach').mockResolvedValue(old);
    await second.follow(['0']);
    expect(read).toHaveBeenCalledTimes(2); // Another member may have been first at the first try.
    await clock.advance(second.session.leaseMs);
    expect(read).toHaveBeenCalledTimes(3);
    read.mockRestore();
    await clock.advance(second.session.leaseMs);
    expect(second.told).toEqual(['acquired 0']);
  });

  it('that was given back begins no second term when a server shows it once more: it is given back again', async () => {
    const { member, old, record } = await setUpReturned();
    expect(record('0')).toEqual({ state: 'vacant', term: 1 });
    const read = vi.spyOn(member.session, 'getDataOfEach').mockResolvedValueOnce(old);
    await member.follow(['0']);
    expect(read).toHaveBeenCalledTimes(2);
    expect(member.acquired.map(({ number }) => number)).toEqual([1, 2]);
  });

  it('that was given back is so again, and its token is not used again, when the servers have taken the release back', async () => {
    const { clock, server, join, outsider, record } = await setUpOwners();
    const member = await join('a');
    await member.follow(['0']);
    const claimed = server.data(RECORD) as Buffer;
    const loseTheRelease = async () => {
      await clock.advanceUntil(outsider.remove(RECORD));
      await clock.advanceUntil(outsider.create(RECORD));
      await clock.advanceUntil(outsider.setData(RECORD, claimed));
    };
    for (const times of [1, 2, 3]) {
      await member.follow([]);
      await loseTheRelease();
      await member.follow(['0']);
      expect(member.acquired).toHaveLength(times + 1);
    }
    expect(member.acquired.map(({ number }) => number)).toEqual([1, 2, 2, 2]); // The servers have lost those, too.
    expect(record('0')).toMatchObject({ state: 'held', term: 2 });
    const tokens = member.acquired.map(({ token }) => token);
    expect(tokens).toEqual(tokens.toSorted((a, b) => Number(a - b)));
    expect(new Set(tokens).size).toBe(4);
  });

  it('that was given back in a move is so again over the next connection, if the servers have taken the release back', async () => {
    const { clock, join, outsider, member, claimed, holder } = await setUpReturned();
    await clock.advanceUntil(outsider.remove(RECORD));
    await clock.advanceUntil(outsider.create(RECORD));
    await clock.advanceUntil(outsider.setData(RECORD, claimed));
    const next = await join('b');
    await next.follow(['0']);
    expect([next.told, holder('0')]).toEqual([[], 'a']);
    const read = vi.spyOn(member.session, 'getDataOfEach');
    member.owner.resumed();
    await clock.advance(SOON_MS);
    expect([next.told, holder('0')]).toEqual([['acquired 0'], 'b']);
    expect(read.mock.calls).toEqual([[[RECORD]]]);
    member.owner.resumed();
    await clock.advance(SOON_MS);
    expect(member.acquired).toHaveLength(1);
    expect(member.errors).toEqual([]);
  });

  it('goes on over another connection, though the same shard was given back before', async () => {
    const { clock, member, holder } = await setUpReturned();
    await member.follow(['0']);
    for (let times = 0; times < 3; times++) {
      member.owner.resumed();
      await clock.advance(SOON_MS);
    }
    expect(member.acquired.map((shard) => [shard.number, shard.isHeld()])).toEqual([
      [1, false],
      [2, true],
    ]);
    expect(holder('0')).toBe('a');
  });

  it('that a server goes on showing is given back once in a lease, not again and again', async () => {
    const { clock, server, member, old } = await setUpReturned();
    const read = vi.spyOn(member.session, 'getDataOfEach').mockResolvedValue(old);
    server.resetCounts();
    member.owner.follow(['0']);
    await clock.advance(5 * TIMES.leaseMs + SOON_MS);
    expect(server.requests.filter(({ paths }) => paths.includes(RECORD))).toHaveLength(1);
    expect(read.mock.calls.length).toBeLessThan(10);
    expect(member.acquired).toHaveLength(1);
    read.mockRestore();
    await clock.advance(TIMES.leaseMs);
    expect(member.acquired.map(({ number }) => number)).toEqual([1, 2]);
  });

  it('is refused if the member’s node is gone', async () => {
    const { join, bury, record } = await setUpOwners();
    const member = await join('a');
    beforeNextWrite(member.session, () => bury(member));
    await member.follow(['0']);
    expect(member.told).toEqual([]);
    expect(record('0')).toEqual({ state: 'vacant', term: 0 });
    expect(member.member.node.isGone).toBe(true);
  });

  it('waits for the tombstone of the member that the record names', async () => {
    const { clock, join, outsider, nameIn, holder } = await setUpOwners();
    const member = await join('a');
    await nameIn('0', NEVER_THERE);
    member.owner.follow(['0', '1']);
    await clock.advance(60_000);
    expect(member.told).toEqual(['acquired 1']);
    await clock.advanceUntil(outsider.create(PATHS.tombstoneOf(NEVER_THERE)));
    await clock.advance(SOON_MS);
    expect(member.told).toEqual(['acquired 1', 'acquired 0']);
    expect(holder('0')).toBe('a');
  });

  it('waits for the tombstone, also where another member of the same session waits for it', async () => {
    const { clock, join, outsider, nameIn } = await setUpOwners();
    const first = await join('a');
    const second = await join('b', first.session);
    for (const shard of ['0', '1']) await nameIn(shard, NEVER_THERE);
    first.owner.follow(['0']);
    await second.follow(['1']);
    await clock.advanceUntil(outsider.create(PATHS.tombstoneOf(NEVER_THERE)));
    await clock.advance(SOON_MS);
    expect([first.told, second.told]).toEqual([['acquired 0'], ['acquired 1']]);
  });

  it('reads none of the shards that it waits for, and of which nothing was heard', async () => {
    const { join } = await setUpOwners();
    const [first, second] = [await join('a'), await join('b')];
    await first.follow(['0', '1', '2']);
    await second.follow(['0', '1', '2']);
    const read = vi.spyOn(second.session, 'getDataOfEach');
    await first.follow(['1', '2']);
    expect(second.told).toEqual(['acquired 0']);
    expect(read.mock.calls).toEqual([[[RECORD]]]);
  });

  it('is refused if the tombstone that it was begun for is gone', async () => {
    const { clock, join, outsider, nameIn, holder } = await setUpOwners();
    const member = await join('a');
    await nameIn('0', NEVER_THERE);
    await clock.advanceUntil(outsider.create(PATHS.tombstoneOf(NEVER_THERE)));
    beforeNextWrite(member.session, () => outsider.remove(PATHS.tombstoneOf(NEVER_THERE)));
    await member.follow(['0', '1']);
    expect(member.told).toEqual(['acquired 1']);
    expect(holder('0')).toBe('named');
  });

  it('whose record the servers refuse to write is reported and tried again a lease later, and the other shards are owned', async () => {
    const { clock, join, permit } = await setUpOwners();
    const member = await join('a');
    await permit(RECORD, PERMISSION.read);
    await member.follow(['0', '1', '2']);
    expect(member.told.sort()).toEqual(['acquired 1', 'acquired 2']);
    expect(member.errors.splice(0)).toMatchObject([{ code: 'NO_AUTH', path: RECORD }]);
    await permit(RECORD, PERMISSION.all);
    await clock.advance(TIMES.leaseMs);
    expect(member.told).toContain('acquired 0');
    expect(member.errors).toEqual([]);
  });

  it('that a server refuses as a whole is reported, and tried again a lease later', async () => {
    const { clock, server, join } = await setUpOwners();
    const member = await join('a');
    server.failWith('SYSTEM_ERROR', { operation: 'multi', path: RECORD, times: 1 });
    await member.follow(['0', '1']);
    expect([member.told, member.errors.splice(0).length]).toEqual([[], 1]);
    await clock.advance(TIMES.leaseMs);
    expect(member.told.sort()).toEqual(['acquired 0', 'acquired 1']);
    expect(member.errors).toEqual([]);
  });

  it('without an answer is found carried out, and is the member’s', async () => {
    const { clock, server, join } = await setUpOwners();
    const member = await join('a');
    server.swallowReply('multi', { path: RECORD });
    member.owner.follow(['0', '1']);
    await clock.advance(1000);
    expect(member.told.sort()).toEqual(['acquired 0', 'acquired 1']);
    expect(member.acquired.map(({ number }) => number)).toEqual([1, 1]);
  });

  it.each([
    ['the first', '0'],
    ['the last', '599'],
  ])(
    'among those of several transactions is repeated if %s has no answer, and each shard begins once',
    async (_, shard) => {
      const { clock, server, join } = await setUpOwners({ shards: 600 });
      const member = await join('a');
      const lost = server.swallowReply('multi', { path: PATHS.recordOf(shard) });
      const all = Array.from({ length: 600 }, (_, at) => `${at}`);
      await member.follow(all);
      expect(lost.hits).toBe(1);
      await clock.advance(1000);
      expect(member.told.sort()).toEqual(all.map((id) => `acquired ${id}`).sort());
    },
  );
});

describe('a shard whose record another client has overwritten', () => {
  it.each([
    ['no data', ''],
    ['a word', 'maintenance'],
    ['a record of a later format', '{"format":2,"state":"vacant","term":9}'],
    ['a record that was cut off', '{"format":1,"state":"vac'],
  ])('with %s is kept by its owner, and claimed by no member until it is vacant', async (_, data) => {
    const { clock, join, outsider } = await setUpOwners();
    const [owner, other] = [await join('a'), await join('b')];
    await owner.follow(['0']);
    await clock.advanceUntil(outsider.setData(RECORD, Buffer.from(data)));
    other.owner.follow(['0']);
    await clock.advance(3 * takeoverDelayMs(TIMES.leaseMs));
    expect([owner.acquired[0]?.isHeld(), other.told]).toEqual([true, []]);
    owner.owner.follow([]);
    await clock.advance(3 * takeoverDelayMs(TIMES.leaseMs));
    expect([owner.owner.owned, other.told]).toEqual([[], []]);
    expect(other.errors.splice(0).map(String)).toEqual([
      `Error: ${RECORD}, the record of shard 0, is missing, or can't be read: no member can claim the shard. "conclave shards status" says what to do`,
    ]);
    await clock.advanceUntil(outsider.setData(RECORD, Buffer.from('{"format":1,"state":"vacant","term":2}')));
    await clock.advance(2 * TIMES.leaseMs);
    expect(other.told).toEqual(['acquired 0']);
    expect(other.acquired[0]?.number).toBe(3);
  });
});

describe('a release of a shard', () => {
  it('is refused if the record was written since the claim', async () => {
    const { join, nameIn, holder } = await setUpOwners();
    const member = await join('a');
    await member.follow(['0', '1']);
    await nameIn('0', NEVER_THERE);
    await member.follow([]);
    expect([holder('0'), holder('1')]).toEqual(['named', undefined]);
    expect(member.told.sort()).toEqual(['acquired 0', 'acquired 1', 'moved 0', 'moved 1']);
    expect(member.errors).toEqual([]);
  });

  it('that the servers refuse is tried again and again, delays no other shard, and the shard isn’t taken up before', async () => {
    const { clock, join, permit, holder } = await setUpOwners();
    const [member, other] = [await join('a'), await join('b')];
    await member.follow(['0', '1']);
    await permit(RECORD, PERMISSION.read);
    member.owner.follow([]);
    await other.follow(['1']);
    expect([holder('0'), holder('1')]).toEqual(['a', 'b']);
    member.owner.follow(['0']);
    await clock.advance(3 * TIMES.leaseMs);
    expect(member.told.sort()).toEqual(['acquired 0', 'acquired 1', 'moved 1']);
    const refused = member.errors.splice(0);
    expect(refused.length).toBeGreaterThanOrEqual(3);
    for (const error of refused) expect(error).toMatchObject({ code: 'NO_AUTH', path: RECORD });
    expect(member.owner.lacking).toEqual(['0']);
    await permit(RECORD, PERMISSION.all);
    await clock.advance(2 * TIMES.leaseMs);
    expect(member.acquired.map(({ id, number }) => `${id} ${number}`).sort()).toEqual(['0 1', '0 2', '1 1']);
  });

  it('that the servers refuse when the member leaves is given up, and its tombstone says that it acts no more', async () => {
    const { clock, server, join, permit, holder } = await setUpOwners();
    const [member, other] = [await join('a'), await join('b')];
    await member.follow(['0', '1']);
    await permit(RECORD, PERMISSION.read);
    await clock.advanceUntil(member.leave());
    expect(member.errors.splice(0)).toMatchObject([{ code: 'NO_AUTH', path: RECORD }]);
    expect(holder('0')).toBe('a');
    expect(server.paths(PATHS.members)).not.toContain(member.member.node.path);
    await permit(RECORD, PERMISSION.all);
    await other.follow(['0', '1']);
    expect(other.told.sort()).toEqual(['acquired 0', 'acquired 1']);
  });

  it('of a shard whose record another client has deleted is done', async () => {
    const { clock, join, outsider } = await setUpOwners();
    const member = await join('a');
    await member.follow(['0', '1']);
    await clock.advanceUntil(outsider.remove(RECORD));
    await clock.advanceUntil(member.leave());
    expect(member.told.sort()).toEqual(['acquired 0', 'acquired 1', 'stopped 0', 'stopped 1']);
    expect([member.owner.mayBeNamed, member.errors]).toEqual([false, []]);
  });
});

import { describe, expect, it } from 'vitest';
import { ConnectionLossError, NodeExistsError, NoNodeError, ZooKeeperError } from '../../../src/errors.js';
import { HeartbeatVersion } from '../../../src/lease/heartbeat-version.js';
import type { PartResult, Stat } from '../../../src/session/protocol/records.js';
import { instantAt } from '../../support/lease-instant.js';

const CREATION = { kind: 'create', path: '/chroot/h', mode: 'ephemeral' };
const RAISE = { kind: 'set', path: '/chroot/h', data: Buffer.alloc(0) };
const exists = () => new NodeExistsError(-110, 'NODE_EXISTS', 'multi[create]', '/h');
const missing = () => new NoNodeError(-101, 'NO_NODE', 'multi[set]', '/h');
const denied = () => new ZooKeeperError(-102, 'NO_AUTH', 'multi[create]', '/h');
const raisedTo = (version: number) => ({ stat: { version } as Stat }) satisfies PartResult;

function setUp() {
  const told: string[] = [];
  const version = new HeartbeatVersion('/h', '/chroot/h', {
    onChanged: () => void told.push('changed'),
    onUnavailable: () => void told.push('unavailable'),
    onUnprovable: (why) => void told.push(why),
  });
  return { version, told };
}

/** A version whose heartbeat node exists: a heartbeat has created it. */
function setUpThere() {
  const { version, told } = setUp();
  version.nextWrite();
  version.written({ path: '/h' }, 1n);
  told.length = 0;
  return { version, told };
}

describe('the version that heartbeats raise', () => {
  it('begins with a heartbeat that makes the node, and rises with each that follows', () => {
    const { version, told } = setUp();
    expect([version.mayExist, version.exists]).toEqual([false, false]);
    expect(version.nextWrite()).toEqual(CREATION);
    expect([version.mayExist, version.exists]).toEqual([true, false]);
    version.written({ path: '/h' }, 1n);
    expect([told, version.exists]).toEqual([['changed'], true]);
    expect(version.nextWrite()).toEqual(RAISE);
    expect(version.nextProof()).toEqual({ ...RAISE, path: '/h' });
    version.written(raisedTo(1), 2n);
    version.written(raisedTo(2), 3n);
    expect(told).toEqual(['changed']);
  });

  it('goes on rising when the node turns out to be there, made by a heartbeat that was not answered', () => {
    const { version, told } = setUp();
    version.nextWrite();
    expect(version.nextWrite()).toEqual(CREATION);
    version.refused(exists());
    expect([told, version.nextWrite()]).toEqual([['changed'], RAISE]);
    version.written(raisedTo(0), 1n);
    expect(version.exists).toBe(true);
  });

  it('begins no lease when a creation that was not answered is repeated, but with the next write', () => {
    const { version } = setUp();
    version.nextWrite();
    version.nextWrite();
    expect(version.written({ path: '/h' }, 1n)).toBe(false);
    expect(version.nextWrite()).toEqual(RAISE);
    expect(version.written(raisedTo(1), 2n)).toBe(true);
  });

  it('begins a lease with each write that is sent once', () => {
    const { version } = setUp();
    version.nextWrite();
    expect(version.written({ path: '/h' }, 1n)).toBe(true);
    expect([version.written(raisedTo(2), 3n), version.written(raisedTo(1), 2n)]).toEqual([true, true]);
  });

  it('is left out where the servers do not let the node be made', () => {
    const { version, told } = setUp();
    version.nextWrite();
    version.refused(denied());
    expect([told, version.nextWrite()]).toEqual([['unavailable'], undefined]);
  });

  it('is never begun anew: a node that is gone is a lost place', () => {
    const { version, told } = setUpThere();
    version.refused(missing());
    expect(told).toEqual(['changed', '/h was deleted by another client']);
    expect([version.nextWrite(), version.exists]).toEqual([undefined, false]);
  });

  it('proves nothing any more when it can not be written', () => {
    const { version, told } = setUpThere();
    version.refused(denied());
    expect(told[1]).toContain('no heartbeat can be written to /h');
    expect(version.nextWrite()).toBeUndefined();
  });

  it('is not taken for lower when the answer to an earlier write is handled later', () => {
    const { version, told } = setUpThere();
    version.written(raisedTo(5), 6n);
    version.written(raisedTo(4), 5n);
    version.written(raisedTo(6), 7n);
    expect([told, version.exists]).toEqual([[], true]);
  });

  it('that is lower than before shows that the data of the servers went back', () => {
    for (const next of [5, 4, 0]) {
      const { version, told } = setUpThere();
      version.written(raisedTo(5), 6n);
      expect(told).toEqual([]);
      version.written(raisedTo(next), 7n);
      expect(told[1]).toContain("the servers' data was restored from a backup");
      version.written(raisedTo(6), 8n);
      expect([told.length, version.nextWrite(), version.exists]).toEqual([2, undefined, false]);
    }
  });
});

describe('a claim', () => {
  const CLAIM = { kind: 'set', path: '/record', data: Buffer.alloc(0) } as const;
  const CREATED = { path: '/h' } satisfies PartResult;
  const answered = (value: PartResult[]) => Promise.resolve({ value, zxid: 1n, sentAt: instantAt(0) });

  it('makes the node if no heartbeat has, and no heartbeat is sent until its outcome is known', async () => {
    const { version, told } = setUp();
    const { value } = await version.claimWith([CLAIM], (parts) => {
      expect(parts).toEqual([CLAIM, { ...CREATION, path: '/h' }]);
      expect([version.nextWrite(), version.nextProof(), version.mayExist]).toEqual([
        undefined,
        undefined,
        true,
      ]);
      return answered([{}, CREATED]);
    });
    expect([value, told, version.nextWrite()]).toEqual([[{}], ['changed', 'changed'], RAISE]);
  });

  it('that was refused leaves it to the next heartbeat, or to the next claim', async () => {
    const { version, told } = setUp();
    const refused = version.claimWith([CLAIM], () => Promise.reject(missing()));
    await expect(refused).rejects.toThrow('NO_NODE');
    expect([told.length, version.nextWrite()]).toEqual([2, CREATION]);
  });

  it('that was refused for the node shows that it is there, or can not be made', async () => {
    for (const [error, next] of [
      [exists(), RAISE],
      [denied(), undefined],
    ] as const) {
      const { version } = setUp();
      await expect(version.claimWith([CLAIM], () => Promise.reject(error))).rejects.toBe(error);
      expect(version.nextWrite()).toEqual(next);
    }
  });

  it('that is not answered leaves it to the next heartbeat when its outcome is known', async () => {
    const { version } = setUp();
    const lost = version.claimWith([CLAIM], () => Promise.reject(new ConnectionLossError('lost')));
    await expect(lost).rejects.toThrow('lost');
    expect(version.nextWrite()).toBeUndefined();
    version.claimSettled();
    expect(version.nextWrite()).toEqual(CREATION);
  });

  it('takes nothing from the answer to a heartbeat that was sent before', async () => {
    const { version } = setUp();
    version.nextWrite();
    await version.claimWith([CLAIM], () => {
      version.refused(denied());
      expect(version.nextWrite()).toBeUndefined();
      version.refused(exists());
      return answered([{}, CREATED]);
    });
    expect(version.nextWrite()).toEqual(RAISE);
  });

  it('gives no lease to a repeated heartbeat that is answered while its own outcome is not known', async () => {
    const { version } = setUp();
    version.nextWrite();
    version.nextWrite();
    const refused = version.claimWith([CLAIM], () => {
      expect(version.written({ path: '/h' }, 1n)).toBe(false);
      return Promise.reject(missing());
    });
    await expect(refused).rejects.toThrow('NO_NODE');
    expect(version.nextWrite()).toEqual(RAISE);
  });

  it('has nothing to make where a heartbeat has made the node, and its outcome changes nothing then', async () => {
    const { version, told } = setUpThere();
    await version.claimWith([CLAIM], (parts) => {
      expect(parts).toEqual([CLAIM]);
      return answered([{}]);
    });
    version.claimSettled();
    expect([told, version.exists]).toEqual([[], true]);
  });
});

import { describe, expect, it } from 'vitest';
import { ConnectionLossError, NoNodeError, ZooKeeperError } from '../../../../src/errors.js';
import type { LeaseInstant } from '../../../../src/platform/time/clock.js';
import {
  HeartbeatBatch,
  type ProvenNode,
  type RaisedVersion,
} from '../../../../src/session/keep-alive/heartbeat-batch.js';
import type { PartResult, Stat, TransactionPart } from '../../../../src/session/protocol/multi-and-stats.js';
import { TransactionError } from '../../../../src/session/protocol/requests.js';
import { instantAt, msOf } from '../../../support/lease-instant.js';

class Version implements RaisedVersion {
  readonly results: PartResult[] = [];
  readonly refusals: ZooKeeperError[] = [];
  beginsLease = true;
  version = 0;
  constructor(readonly raise: TransactionPart) {}
  absoluteRaise(): TransactionPart {
    return this.raise;
  }
  written(result: PartResult): boolean {
    this.results.push(result);
    return this.beginsLease;
  }
  shown(version: number): void {
    this.version = version;
  }
  refused(error: ZooKeeperError): void {
    this.refusals.push(error);
  }
}

class Node implements ProvenNode {
  readonly told: (string | number)[] = [];
  constructor(
    readonly absolutePath: string,
    readonly raised?: Version,
  ) {}
  confirmed(sentAt: LeaseInstant): void {
    this.told.push(msOf(sentAt));
  }
  gone(): void {
    this.told.push('gone');
  }
  unreadable(): void {
    this.told.push('unreadable');
  }
}

const raising = (path: string) =>
  new Node(path, new Version({ kind: 'set', path: `${path}-h`, data: Buffer.alloc(0) }));
const batchesOf = (nodes: readonly Node[]) => HeartbeatBatch.of(nodes);
const onlyBatchOf = (nodes: readonly Node[]) => {
  const batches = batchesOf(nodes);
  expect(batches).toHaveLength(1);
  return batches[0] as HeartbeatBatch;
};
const result = (version: number): PartResult => ({ stat: { version } as Stat });
const noNode = () => new NoNodeError(-101, 'NO_NODE', 'multi[check]', '/a');
const noAuth = () => new ZooKeeperError(-102, 'NO_AUTH', 'multi[check]', '/a');

describe('a heartbeat of several nodes', () => {
  it('proves each, and raises the versions of those that have one', () => {
    const [plain, other] = [new Node('/a'), raising('/b')];
    const batch = onlyBatchOf([plain, other]);
    expect(batch.nodes).toEqual([plain, other]);
    batch.confirmed({ value: [{}, {}, result(7)], zxid: 1n, sentAt: instantAt(42) }, () => true);
    expect([plain.told, other.told, other.raised?.results]).toEqual([[42], [42], [result(7)]]);
  });

  it('proves none for which the write begins no lease', () => {
    const [plain, repeated] = [new Node('/a'), raising('/b')];
    (repeated.raised as Version).beginsLease = false;
    onlyBatchOf([plain, repeated]).confirmed(
      { value: [{}, {}, {}], zxid: 1n, sentAt: instantAt(42) },
      () => true,
    );
    expect([plain.told, repeated.told]).toEqual([[42], []]);
  });

  it('tells a node nothing that was taken off while it was on its way', () => {
    const [left, stays] = [raising('/a'), raising('/b')];
    onlyBatchOf([left, stays]).confirmed(
      { value: [{}, result(1), {}, result(2)], zxid: 1n, sentAt: instantAt(42) },
      (node) => node === stays,
    );
    expect([left.told, left.raised?.results]).toEqual([[], []]);
    expect([stays.told, stays.raised?.results]).toEqual([[42], [result(2)]]);
  });

  it('is split so that each request fits, with a node and its version in one', () => {
    const nodes = Array.from({ length: 450 }, (_, index) => raising(`/${index}`));
    const batches = batchesOf(nodes);
    expect(batches.length).toBeGreaterThan(2);
    expect(batches.flatMap((batch) => batch.nodes)).toEqual(nodes);
    const long = Array.from({ length: 200 }, (_, index) => raising(`/${'x'.repeat(4000)}${index}`));
    const sizes = batchesOf(long).map(({ request }) => request.encode(1).length);
    expect(Math.max(...sizes)).toBeLessThan(1_000_000);
  });
});

describe('a heartbeat that is refused', () => {
  it('for a node that is gone, or can not be read, says so to that one, and takes it off', () => {
    const [first, second] = [raising('/a'), raising('/b')];
    const batch = onlyBatchOf([first, second]);
    const removed: ProvenNode[] = [];
    batch.refused(new TransactionError(2, noNode()), (node) => removed.push(node));
    expect([removed, first.told, second.told]).toEqual([[second], [], ['gone']]);
    batch.refused(new TransactionError(0, noAuth()), (node) => removed.push(node));
    expect([removed, first.told]).toEqual([[second, first], ['unreadable']]);
  });

  it('for a version says so to that one, and takes it off', () => {
    const [first, second] = [raising('/a'), raising('/b')];
    const removed: ProvenNode[] = [];
    const error = noNode();
    onlyBatchOf([first, second]).refused(new TransactionError(3, error), (node) => removed.push(node));
    expect([removed, second.raised?.refusals, first.raised?.refusals]).toEqual([[second], [error], []]);
    expect([first.told, second.told]).toEqual([[], []]);
  });

  it('for anything else is no answer that it could go on with', () => {
    const batch = onlyBatchOf([new Node('/a')]);
    const broken = new ConnectionLossError('lost');
    expect(() => batch.refused(broken, () => undefined)).toThrow(broken);
    const odd = new TransactionError(0, new ZooKeeperError(-8, 'BAD_ARGUMENTS', 'multi[check]', '/a'));
    expect(() => batch.refused(odd, () => undefined)).toThrow(odd);
    const unknown = new TransactionError(9, noNode());
    expect(() => batch.refused(unknown, () => undefined)).toThrow(unknown);
  });
});

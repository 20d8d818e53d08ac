import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Access, AccessEntry } from '../../../../src/session/protocol/acl.js';
import {
  bytesOfParts,
  OP,
  type Stat,
  type TransactionPart,
} from '../../../../src/session/protocol/multi-and-stats.js';
import * as requests from '../../../../src/session/protocol/requests.js';
import { WireError } from '../../../../src/wire/jute.js';

interface CodecRecord {
  byteLength(): number;
  serialize(buffer: Buffer, offset: number): number;
}
type Make = new (...fields: unknown[]) => CodecRecord;
interface Codec {
  readonly OP_CODES: Readonly<Record<string, number>>;
  readonly Request: new (header: CodecRecord, payload: unknown) => { toBuffer(): Buffer };
  readonly TransactionRequest: new (operations: object[]) => unknown;
  readonly protocol: Readonly<Record<string, Make>>;
  readonly data: Readonly<Record<string, Make>>;
}

/** The codec of node-zookeeper-client, with which the tests compare our hand-written code. */
const codec = createRequire(import.meta.url)('node-zookeeper-client/lib/jute/index.js') as Codec;

function make(of: 'protocol' | 'data', name: string, ...fields: unknown[]): CodecRecord {
  const Made = codec[of][name] as Make;
  return new Made(...fields);
}

function packet(xid: number, code: number, payload: unknown): Buffer {
  return new codec.Request(make('protocol', 'RequestHeader', xid, code), payload).toBuffer();
}

function bytesOf(...records: CodecRecord[]): Buffer {
  return Buffer.concat(
    records.map((record) => {
      const bytes = Buffer.alloc(record.byteLength());
      record.serialize(bytes, 0);
      return bytes;
    }),
  );
}

function long(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

const number = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const path = fc.string({ unit: 'binary', maxLength: 60 }).map((name) => `/${name}`);
const data = fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes));
const xid = fc.integer({ min: 1, max: 2 ** 31 - 1 });
const modes = { persistent: 0, ephemeral: 1, 'ephemeral-sequential': 3 } as const;
const mode = fc.constantFrom(...(Object.keys(modes) as (keyof typeof modes)[]));
const access = fc.array(
  fc.record({ scheme: fc.string(), id: fc.string(), permissions: fc.integer({ min: 1, max: 31 }) }),
  { minLength: 1, maxLength: 4 },
);
const stat = fc.record({
  czxid: id,
  mzxid: id,
  createdAtMs: fc.nat(2 ** 45),
  modifiedAtMs: fc.nat(2 ** 45),
  version: number,
  cversion: number,
  ephemeralOwner: id,
  numChildren: number,
  dataLength: number,
});
const part: fc.Arbitrary<TransactionPart> = fc.oneof(
  fc.record({ kind: fc.constant('check' as const), path, version: number }),
  fc.record({ kind: fc.constant('delete' as const), path, version: number }),
  fc.record({ kind: fc.constant('set' as const), path, data, version: number }),
  fc.record({ kind: fc.constant('create' as const), path, data, mode }),
);

const acls = (entries: readonly AccessEntry[]) =>
  entries.map(({ scheme, id: of, permissions }) =>
    make('data', 'ACL', permissions, make('data', 'Id', scheme, of)),
  );

/** A stat as a server writes it, also with values in the fields that the client doesn't use. */
const statRecord = (of: Stat) =>
  make(
    'data',
    'Stat',
    long(of.czxid),
    long(of.mzxid),
    long(BigInt(of.createdAtMs)),
    long(BigInt(of.modifiedAtMs)),
    of.version,
    of.cversion,
    19,
    long(of.ephemeralOwner),
    of.dataLength,
    of.numChildren,
    long(29n),
  );

/** A part of a transaction in the form that the codec expects. */
function operation(of: TransactionPart, entries: readonly AccessEntry[]): object {
  switch (of.kind) {
    case 'check':
      return { type: 13, path: of.path, version: of.version };
    case 'delete':
      return { type: 2, path: of.path, version: of.version };
    case 'set':
      return { type: 5, path: of.path, data: of.data, version: of.version };
    case 'create': {
      const lists = acls(entries).map((acl) => ({ toRecord: () => acl }));
      return { type: 1, path: of.path, data: of.data, acls: lists, mode: modes[of.mode ?? 'persistent'] };
    }
  }
}

describe('what is written by hand', () => {
  it('is what the codec writes: creations', () => {
    fc.assert(
      fc.property(xid, path, data, mode, access, (number_, at, what, how, who) => {
        const payload = make('protocol', 'CreateRequest', at, what, acls(who), modes[how]);
        const asked = requests.createRequest(at, what, how, who);
        expect(asked.encode(number_)).toEqual(packet(number_, 1, payload));
      }),
    );
  });

  it('is what the codec writes: deletions, writes and reads', () => {
    fc.assert(
      fc.property(xid, path, data, number, fc.boolean(), (number_, at, what, version, watch) => {
        for (const [asked, code, name, ...fields] of [
          [requests.deleteRequest(at, version), 2, 'DeleteRequest', at, version],
          [requests.existsRequest(at), 3, 'ExistsRequest', at, false],
          [requests.getDataRequest(at, watch), 4, 'GetDataRequest', at, watch],
          [requests.setDataRequest(at, what, version), 5, 'SetDataRequest', at, what, version],
          // The codec knows only the listing with a stat, whose request has the same fields.
          [requests.getChildrenRequest(at), 8, 'GetChildren2Request', at, false],
          [requests.getAclRequest(at), 6, 'GetACLRequest', at],
        ] as const)
          expect(asked.encode(number_)).toEqual(packet(number_, code, make('protocol', name, ...fields)));
      }),
    );
  });

  it('is what the codec writes: handshakes, and a flag behind them that the codec does not know', () => {
    fc.assert(
      fc.property(id, number, id, data, (lastZxid, timeoutMs, session, password) => {
        const fields = [0, long(lastZxid), timeoutMs, long(session), password];
        const payload = bytesOf(make('protocol', 'ConnectRequest', ...fields));
        // "Read only: no". Servers take a client that says nothing of it for an old one, and log a warning at each connection.
        const length = Buffer.alloc(4);
        length.writeInt32BE(payload.length + 1);
        const expected = Buffer.concat([length, payload, Buffer.from([0])]);
        expect(requests.encodeHandshake({ id: session, password, timeoutMs, lastZxid })).toEqual(expected);
      }),
    );
  });

  it('is what the codec writes: transactions', () => {
    fc.assert(
      fc.property(xid, fc.array(part, { maxLength: 6 }), access, (number_, parts, who) => {
        const payload = new codec.TransactionRequest(parts.map((each) => operation(each, who)));
        expect(requests.multiRequest(parts, who).encode(number_)).toEqual(packet(number_, 14, payload));
      }),
    );
  });

  it('is what the codec writes: reads of several nodes, as parts that it knows', () => {
    const end = make('protocol', 'MultiHeader', -1, true, -1);
    fc.assert(
      fc.property(xid, fc.array(path, { maxLength: 6 }), (number_, paths) => {
        const reads = paths.flatMap((at) => [
          make('protocol', 'MultiHeader', 4, false, -1),
          make('protocol', 'GetDataRequest', at, false),
        ]);
        const expected = bytesOf(make('protocol', 'RequestHeader', number_, 22), ...reads, end);
        expect(requests.getDataOfEachRequest(paths).encode(number_).subarray(4)).toEqual(expected);
      }),
    );
  });

  it('begins anew after a request that could not be written', () => {
    const wrong = requests.setDataRequest('/a', Buffer.alloc(1), 2 ** 40);
    expect(() => wrong.encode(1)).toThrow(RangeError);
    const payload = make('protocol', 'DeleteRequest', '/b', -1);
    expect(requests.deleteRequest('/b').encode(2)).toEqual(packet(2, 2, payload));
  });

  it('goes by the numbers that the codec knows', () => {
    const known = Object.entries(codec.OP_CODES).map(
      ([name, code]) => [name.toLowerCase().replaceAll('_', ''), code] as const,
    );
    const unknown = new Set(['removeWatches', 'multiRead']);
    const ours = Object.entries(OP).filter(([name]) => !unknown.has(name));
    expect(known).toEqual(expect.arrayContaining(ours.map(([name, code]) => [name.toLowerCase(), code])));
  });
});

describe('what is read by hand', () => {
  it('is what the codec was given', () => {
    fc.assert(
      fc.property(path, data, fc.array(path), access, stat, (at, what, names, who, about) => {
        const record = statRecord(about);
        const created = bytesOf(make('protocol', 'CreateResponse', at));
        expect(requests.createRequest(at, what, 'ephemeral', 'world').decode(created)).toBe(at);
        expect(requests.existsRequest(at).decode(bytesOf(record))).toEqual(about);
        expect(requests.setDataRequest(at, what).decode(bytesOf(record))).toEqual(about);
        const read = bytesOf(make('protocol', 'GetDataResponse', what, record));
        expect(requests.getDataRequest(at, true).decode(read)).toEqual({ data: what, stat: about });
        // Without the stat at the end, which belongs to the other kind of listing.
        const listed = bytesOf(make('protocol', 'GetChildren2Response', names, record)).subarray(0, -68);
        expect(requests.getChildrenRequest(at).decode(listed).strings()).toEqual(names);
        const ruled = bytesOf(make('protocol', 'GetACLResponse', acls(who), record));
        expect(requests.getAclRequest(at).decode(ruled)).toEqual(who);
      }),
    );
  });

  it('gives for each of several nodes what it has, or why a server refuses to show it', () => {
    const head = (code: number) => make('protocol', 'MultiHeader', code, false, 0);
    fc.assert(
      fc.property(data, stat, (what, about) => {
        const body = bytesOf(
          ...[head(4), make('protocol', 'GetDataResponse', what, statRecord(about))],
          ...[head(-1), make('protocol', 'ErrorResponse', -102)],
          ...[head(4), make('protocol', 'GetDataResponse', undefined, statRecord(about))],
          make('protocol', 'MultiHeader', -1, true, -1),
        );
        expect(requests.getDataOfEachRequest(['/a', '/b', '/c']).decode(body)).toEqual([
          { data: what, stat: about },
          expect.objectContaining({ code: 'NO_AUTH', operation: 'getData', path: '/b' }),
          { data: Buffer.alloc(0), stat: about },
        ]);
      }),
    );
  });

  it('takes data and children that are null for none', () => {
    const about = fc.sample(stat, 1)[0] as Stat;
    const read = bytesOf(make('protocol', 'GetDataResponse', undefined, statRecord(about)));
    expect(requests.getDataRequest('/a', false).decode(read).data).toEqual(Buffer.alloc(0));
    const none = Buffer.from([255, 255, 255, 255]);
    expect(requests.getChildrenRequest('/a').decode(none).strings()).toEqual([]);
  });

  it('keeps nothing of the packet that data came in', () => {
    const about = fc.sample(stat, 1)[0] as Stat;
    const read = bytesOf(make('protocol', 'GetDataResponse', Buffer.from('mine'), statRecord(about)));
    const { data: kept } = requests.getDataRequest('/a', false).decode(read);
    expect(kept.toString()).toBe('mine');
    expect(kept.buffer.byteLength).toBe(4);
  });

  it('gives the outcome of each part of a transaction', () => {
    const parts = [
      { kind: 'check', path: '/a' },
      { kind: 'set', path: '/b', data: Buffer.from('b') },
      { kind: 'create', path: '/c' },
      { kind: 'delete', path: '/d' },
    ] as const;
    fc.assert(
      fc.property(stat, path, (about, at) => {
        const head = (code: number) => make('protocol', 'MultiHeader', code, false, 0);
        const body = bytesOf(
          ...[head(13), head(5), statRecord(about), head(1), make('protocol', 'CreateResponse', at)],
          ...[head(2), make('protocol', 'MultiHeader', -1, true, -1)],
        );
        expect(requests.multiRequest(parts, 'world').decode(body)).toEqual([
          {},
          { stat: about },
          { path: at },
          {},
        ]);
      }),
    );
  });

  it('shows which part of a refused transaction was at fault', () => {
    const error = (code: number) => [
      make('protocol', 'MultiHeader', -1, false, code),
      make('protocol', 'ErrorResponse', code),
    ];
    const end = make('protocol', 'MultiHeader', -1, true, -1);
    const body = bytesOf(...error(0), ...error(-103), ...error(-2), end);
    const parts = ['/a', '/b', '/c'].map((at) => ({ kind: 'check', path: at }) as const);
    expect(() => requests.multiRequest(parts, 'world').decode(body)).toThrow(
      expect.objectContaining({
        failedPart: 1,
        error: expect.objectContaining({ serverCode: -103, operation: 'multi[check]', path: '/b' }),
      }),
    );
  });

  it('reports that a node has changed, or that it is gone', () => {
    const [DATA_CHANGED, DELETED, CONNECTED] = [3, 2, 3];
    fc.assert(
      fc.property(path, (at) => {
        const event = (type: number) => bytesOf(make('protocol', 'WatcherEvent', type, CONNECTED, at));
        expect(requests.decodeEvent(event(DELETED))).toEqual({ path: at, change: 'deleted' });
        expect(requests.decodeEvent(event(DATA_CHANGED))).toEqual({ path: at, change: 'changed' });
        expect(() => requests.decodeEvent(event(DELETED).subarray(0, -1))).toThrow(WireError);
      }),
    );
  });

  it('is refused where it ends too early, or is of another kind', () => {
    const about = bytesOf(statRecord(fc.sample(stat, 1)[0] as Stat));
    expect(() => requests.existsRequest('/a').decode(about.subarray(1))).toThrow(WireError);
    expect(() => requests.getChildrenRequest('/a').decode(Buffer.alloc(3))).toThrow(WireError);
    const head = (code: number, hasEnded: boolean) => make('protocol', 'MultiHeader', code, hasEnded, 0);
    const answers = {
      strange: [head(99, false), head(-1, true)],
      empty: [head(-1, true)],
      'refused for no reason': [head(-1, false), make('protocol', 'ErrorResponse', 0), head(-1, true)],
    };
    const asked = requests.multiRequest([{ kind: 'check', path: '/a' }], 'world');
    for (const answer of Object.values(answers))
      expect(() => asked.decode(bytesOf(...answer))).toThrow(WireError);
    for (const answer of [answers.strange, answers.empty, [head(4, false)]])
      expect(() => requests.getDataOfEachRequest(['/a']).decode(bytesOf(...answer))).toThrow(WireError);
  });
});

const anyAccess: fc.Arbitrary<Access> = fc.oneof(fc.constantFrom('world', 'creator'), access);
const anyPart: fc.Arbitrary<TransactionPart> = fc.oneof(
  part,
  fc.record(
    { kind: fc.constant('create'), path, data, access: anyAccess },
    { requiredKeys: ['kind', 'path'] },
  ),
);

it('the size of a transaction is that of the packet that is sent, without its length in front', () => {
  fc.assert(
    fc.property(fc.array(anyPart), anyAccess, (parts, own) => {
      expect(bytesOfParts(parts, own)).toBe(requests.multiRequest(parts, own).encode(1).length - 4);
    }),
  );
});

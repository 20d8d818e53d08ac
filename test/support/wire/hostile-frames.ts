import fc from 'fast-check';
import { greeting, reply } from './fake-server.mjs';
import { framed } from './frames.mjs';
import { Writer } from './jute.mjs';
import { XID } from './protocol.mjs';

export const int = (value: number) => new Writer().int(value).done();
const text = (value: string) => new Writer().string(value).done();

/** A server's answer to a handshake when it takes the session. */
export const GREETING = greeting(1000);
/** The same without a password, which no ZooKeeper sends. */
export const WITHOUT_PASSWORD = framed(
  new Writer().int(0).int(1000).long(1n).buffer(null).bool(false).done(),
);

/** The answer to a ping. */
export const PONG = reply(XID.ping);

const STAT = Buffer.alloc(68, 1);
/** The answers of a well-behaved server, by the number of the request. */
export const GOOD_BODIES: Record<number, Buffer> = {
  1: text('/a'),
  2: STAT,
  3: Buffer.concat([text('data'), STAT]),
  4: new Writer().int(2).string('a').string('b').done(),
  5: new Writer().int(1).int(31).string('world').string('anyone').raw(STAT).done(),
  6: STAT,
  7: new Writer().int(13).bool(false).int(0).int(-1).bool(true).int(-1).done(),
  8: Buffer.alloc(0),
  [XID.event]: new Writer().int(1).int(3).string('/a').done(),
  [XID.ping]: Buffer.alloc(0),
  [XID.auth]: Buffer.alloc(0),
};
export const KNOWN_XIDS = Object.keys(GOOD_BODIES).map(Number);

/** A length, a count or a code that a client must not believe. */
export const hostileNumber = fc.oneof(
  fc.constantFrom(-1, -2, 0, 2 ** 31 - 1, -(2 ** 31), 2 ** 24),
  fc.integer(),
);

/** A good answer with some of its bytes overwritten by bad lengths and counts, and truncated. */
const spoiled = fc
  .record({
    xid: fc.constantFrom(...KNOWN_XIDS),
    code: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      fc.constantFrom(-101, -112, -118, -125),
      fc.integer(),
    ),
    changes: fc.array(fc.tuple(fc.nat(20), hostileNumber), { maxLength: 3 }),
    keep: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  })
  .map(({ xid, code, changes, keep }) => {
    const body = Buffer.from(GOOD_BODIES[xid] as Buffer);
    for (const [at, value] of changes) int(value).copy(body, Math.min(at, body.length));
    return reply(xid, { code, body: body.subarray(0, Math.ceil(body.length * keep)) });
  });
const strange = fc.record({ xid: fc.integer(), code: fc.integer(), body: fc.uint8Array({ maxLength: 80 }) });
/** A packet from a server: nearly right, or nonsense. */
export const hostileChunk = fc.oneof(
  { weight: 6, arbitrary: spoiled },
  strange.map(({ xid, code, body }) => reply(xid, { code, body })),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(hostileNumber, fc.uint8Array({ maxLength: 50 }))
    .map(([length, bytes]) => Buffer.concat([int(length), bytes])),
);

import fc from 'fast-check';

export function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value | 0);
  return bytes;
}

export const framed = (payload: Uint8Array) => Buffer.concat([int(payload.length), payload]);
export const reply = (xid: number, code: number, body: Uint8Array) =>
  framed(Buffer.concat([int(xid), Buffer.alloc(8, 1), int(code), body]));
const text = (value: string) => Buffer.concat([int(value.length), Buffer.from(value)]);
/** What a server says when it takes a session. */
export const GREETING = framed(
  Buffer.concat([int(0), int(1000), Buffer.alloc(8, 1), int(16), Buffer.alloc(17)]),
);
/** The same without a password, which no ZooKeeper does. */
export const WITHOUT_PASSWORD = framed(
  Buffer.concat([int(0), int(1000), Buffer.alloc(8, 1), int(-1), Buffer.alloc(1)]),
);

const STAT = Buffer.alloc(68, 1);
/** What a well-behaved server says, by the number of the request. */
export const GOOD_BODIES: Record<number, Buffer> = {
  1: text('/a'),
  2: STAT,
  3: Buffer.concat([text('data'), STAT]),
  4: Buffer.concat([int(2), text('a'), text('b')]),
  5: Buffer.concat([int(1), int(31), text('world'), text('anyone'), STAT]),
  6: STAT,
  7: Buffer.concat([int(13), Buffer.alloc(1), int(0), int(-1), Buffer.from([1]), int(-1)]),
  8: Buffer.alloc(0),
  [-1]: Buffer.concat([int(1), int(3), text('/a')]),
  [-2]: Buffer.alloc(0),
  [-4]: Buffer.alloc(0),
};
export const KNOWN_XIDS = Object.keys(GOOD_BODIES).map(Number);

/** A length, a count or a code that nobody should believe. */
export const hostileNumber = fc.oneof(
  fc.constantFrom(-1, -2, 0, 2 ** 31 - 1, -(2 ** 31), 2 ** 24),
  fc.integer(),
);

/** A good answer with some of its bytes overwritten by numbers that lengths and counts had better not be, and cut. */
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
    return reply(xid, code, body.subarray(0, Math.ceil(body.length * keep)));
  });
const strange = fc.record({ xid: fc.integer(), code: fc.integer(), body: fc.uint8Array({ maxLength: 80 }) });
/** Something that a server sends: nearly right, or not at all. */
export const hostileChunk = fc.oneof(
  { weight: 6, arbitrary: spoiled },
  strange.map(({ xid, code, body }) => reply(xid, code, body)),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(hostileNumber, fc.uint8Array({ maxLength: 50 }))
    .map(([length, bytes]) => Buffer.concat([int(length), bytes])),
);

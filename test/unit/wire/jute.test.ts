import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PacketSplitter, readRequest } from '../../../src/testing/protocol/requests.js';
import { sequenceSuffix } from '../../../src/testing/state/znode-tree.js';
import { WireError, WireReader, WireWriter } from '../../../src/wire/jute.js';

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

describe('the wire', () => {
  it('gives back what was written', () => {
    const record = fc.record({
      number: int32,
      long: int64,
      flag: fc.boolean(),
      bytes: fc.option(fc.uint8Array({ maxLength: 3000 })),
      name: fc.string({ unit: 'binary', maxLength: 40 }),
      names: fc.array(fc.string(), { maxLength: 40 }),
    });
    const out = new WireWriter();
    fc.assert(
      fc.property(record, ({ number, long, flag, bytes, name, names }) => {
        out.int32(number).int64(long).bool(flag).buffer(bytes).string(name);
        const frame = out.vector(names, (each) => out.string(each)).frame();
        expect(frame.readInt32BE(0)).toBe(frame.length - 4);
        const reader = new WireReader(frame.subarray(4));
        expect([reader.int32(), reader.int64(), reader.bool()]).toEqual([number, long, flag]);
        expect(reader.nullableBuffer()).toEqual(bytes && Buffer.from(bytes));
        expect([reader.string(), reader.strings()]).toEqual([name, names]);
        expect(reader.remaining).toBe(0);
      }),
    );
  });

  it('takes no length and no count on trust', () => {
    const frame = (...numbers: number[]) => {
      const out = new WireWriter();
      for (const number of numbers) out.int32(number);
      return new WireReader(out.frame().subarray(4));
    };
    expect(() => frame(2 ** 31 - 1).nullableBuffer()).toThrow(WireError);
    expect(() => frame(-2).nullableBuffer()).toThrow(WireError);
    expect(() => frame(-1).string()).toThrow(WireError);
    expect(() => frame(2 ** 31 - 1, 0, 0).strings()).toThrow(WireError);
    expect(() => frame().int32()).toThrow(WireError);
    expect(() => frame(1).int64()).toThrow(WireError);
  });

  it('cuts packets wherever the chunks end', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 20 }),
        fc.array(fc.integer({ min: 1, max: 30 })),
        (packets, cuts) => {
          const out = new WireWriter();
          const stream = Buffer.concat(packets.map((packet) => out.buffer(packet).frame().subarray(4)));
          const splitter = new PacketSplitter();
          const got: Buffer[] = [];
          let offset = 0;
          for (const cut of [...cuts, stream.length]) {
            if (offset < stream.length) splitter.push(stream.subarray(offset, offset + cut));
            offset += cut;
            for (let packet = splitter.next(); packet !== undefined; packet = splitter.next())
              got.push(packet);
          }
          expect(got).toEqual(packets.map((packet) => Buffer.from(packet)));
        },
      ),
    );
  });

  it('reads any bytes as a request, a request that makes no sense, or no packet at all', () => {
    const types = [...Array(25).keys(), ...Array.from({ length: 10 }, (_, i) => 100 + i), -11, -1, -10];
    fc.assert(
      fc.property(int32, fc.constantFrom(...types), fc.uint8Array({ maxLength: 200 }), (xid, type, body) => {
        const head = new WireWriter().int32(xid).int32(type).frame().subarray(4);
        const request = readRequest(new WireReader(Buffer.concat([head, body])));
        expect(request.xid).toBe(xid);
        if (request.operation !== undefined) expect(request.operation.kind).toBe(request.type?.name);
      }),
      { numRuns: 5000 },
    );
    expect(() => readRequest(new WireReader(Buffer.alloc(7)))).toThrow(WireError);
  });

  it('names sequential nodes as Java formats a signed number', () => {
    expect([0, 7, 2 ** 31 - 1].map(sequenceSuffix)).toEqual(['0000000000', '0000000007', '2147483647']);
    expect([-1, -(2 ** 31)].map(sequenceSuffix)).toEqual(['-000000001', '-2147483648']);
  });
});

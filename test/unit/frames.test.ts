import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameReader } from '../../src/session/frames.js';

function framed(payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(4 + payload.length);
  frame.writeInt32BE(payload.length);
  frame.set(payload, 4);
  return frame;
}

describe('the frame reader', () => {
  it('gives the same frames however the stream is cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 }),
        fc.array(fc.nat(60)),
        (payloads, cuts) => {
          const stream = Buffer.concat(payloads.map(framed));
          const reader = new FrameReader(1000);
          const frames: Buffer[] = [];
          let offset = 0;
          for (const cut of [...cuts, stream.length]) {
            frames.push(...reader.push(stream.subarray(offset, offset + cut)));
            offset = Math.min(stream.length, offset + cut);
          }
          expect(frames.map((frame) => [...frame])).toEqual(payloads.map((payload) => [...payload]));
        },
      ),
    );
  });

  it.each([-1, 1001, 2 ** 31 - 1, -(2 ** 31)])('refuses a frame that claims a length of %i', (length) => {
    const head = Buffer.alloc(4);
    head.writeInt32BE(length);
    expect(() => [...new FrameReader(1000).push(head)]).toThrow(RangeError);
  });
});

import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FrameReader } from '../../../src/wire/frame-reader.js';
import { framed } from '../../support/wire/frames.mjs';
import { int } from '../../support/wire/hostile-frames.js';

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
    expect(() => [...new FrameReader(1000).push(int(length))]).toThrow(RangeError);
  });

  it('takes a frame that is as long as may be, and one without anything in it', () => {
    const reader = new FrameReader(1000);
    const frames = [...reader.push(Buffer.concat([framed(Buffer.alloc(1000)), framed(Buffer.alloc(0))]))];
    expect(frames.map(({ length }) => length)).toEqual([1000, 0]);
  });

  it('copies no byte that comes in one piece, and others as often as their lengths imply', () => {
    const frames = [0, 1, 2].map((fill) => framed(Buffer.alloc(100, fill)));
    const concat = vi.spyOn(Buffer, 'concat');
    onTestFinished(() => concat.mockRestore());
    const whole = new FrameReader(1000);
    for (const frame of frames) expect([...whole.push(frame)]).toHaveLength(1);
    expect(concat).toHaveBeenCalledTimes(0);
    const piecemeal = new FrameReader(1000);
    for (const frame of frames)
      for (const byte of frame)
        for (const each of piecemeal.push(Buffer.of(byte))) expect(each).toEqual(frame.subarray(4));
    expect(concat).toHaveBeenCalledTimes(6); // For each frame once for its length, and once for its content.
  });
});

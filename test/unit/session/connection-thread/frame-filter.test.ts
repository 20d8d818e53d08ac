import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameFilter, type Handling } from '../../../../src/session/connection-thread/frame-filter.js';
import { MAX_FRAME_BYTES, MAX_HANDSHAKE_REPLY_BYTES } from '../../../../src/session/protocol/frame-layout.js';
import { framed } from '../../../support/wire/frames.mjs';
import { int } from '../../../support/wire/hostile-frames.js';

const HANDSHAKE = framed(Buffer.from('the answer to the handshake'));

function reply(xid: number, body: Uint8Array): Buffer {
  return framed(Buffer.concat([int(xid), body]));
}

/** What passed, and what was shown with how many bytes that had passed by then. */
function filtered(handlingOf: (xid: number) => Handling) {
  const passed: Buffer[] = [];
  const shown: { frame: Buffer; after: number }[] = [];
  const asked: number[] = [];
  let unreadable = 0;
  const filter = new FrameFilter({
    handlingOf: (xid) => {
      asked.push(xid);
      return handlingOf(xid);
    },
    pass: (bytes) => void passed.push(bytes),
    show: (frame) => void shown.push({ frame, after: Buffer.concat(passed).length }),
    unreadable: () => void unreadable++,
  });
  return {
    filter,
    asked,
    shown,
    passed: () => Buffer.concat(passed),
    unreadable: () => unreadable,
  };
}

const handling = fc.constantFrom<Handling>('pass', 'pass-and-show', 'keep');
const frames = fc.array(fc.record({ handling, body: fc.uint8Array({ maxLength: 40 }) }), { maxLength: 12 });
const cuts = fc.array(fc.nat({ max: 300 }), { maxLength: 12 });

function pieces(bytes: Buffer, at: readonly number[]): Buffer[] {
  const ends = [...at.filter((each) => each < bytes.length).sort((a, b) => a - b), bytes.length];
  return ends.map((end, index) => Buffer.from(bytes.subarray(ends[index - 1] ?? 0, end)));
}

describe('a filter of frames', () => {
  it('passes all bytes but those of the frames to keep, in order, however the stream is cut', () => {
    fc.assert(
      fc.property(frames, cuts, (given, at) => {
        const all = given.map(({ handling, body }, xid) => ({ handling, bytes: reply(xid, body) }));
        const { filter, asked, shown, passed } = filtered((xid) => given[xid]?.handling ?? 'pass');
        for (const piece of pieces(Buffer.concat([HANDSHAKE, ...all.map(({ bytes }) => bytes)]), at))
          filter.push(piece);
        filter.end();
        const passing = all.filter((each) => each.handling !== 'keep').map(({ bytes }) => bytes);
        expect(passed()).toEqual(Buffer.concat([HANDSHAKE, ...passing]));
        const toShow = all.filter((each) => each.handling !== 'pass').map(({ bytes }) => bytes.subarray(4));
        expect(shown.map(({ frame }) => frame)).toEqual(toShow);
        expect(asked).toEqual([...given.keys()]);
      }),
    );
  });

  it('shows a frame when all before it has passed, and not yet its own last byte', () => {
    fc.assert(
      fc.property(frames, cuts, (given, at) => {
        const all = given.map(({ body }, xid) => reply(xid, body));
        const { filter, shown } = filtered((xid) => given[xid]?.handling ?? 'pass');
        for (const piece of pieces(Buffer.concat([HANDSHAKE, ...all]), at)) filter.push(piece);
        let before = HANDSHAKE.length;
        let next = 0;
        for (const [xid, bytes] of all.entries()) {
          const { handling } = given[xid] as (typeof given)[number];
          const after = handling === 'pass' ? before : (shown[next++]?.after as number);
          if (handling === 'keep') expect(after).toBe(before);
          if (handling !== 'keep') before += bytes.length;
          if (handling === 'pass-and-show') expect(after).toBeLessThan(before);
        }
      }),
    );
  });

  it('passes bytes as soon as they arrive, but for up to seven at the beginning of a frame', () => {
    fc.assert(
      fc.property(frames, (given) => {
        const all = Buffer.concat([HANDSHAKE, ...given.map(({ body }, xid) => reply(xid, body))]);
        const { filter, passed } = filtered(() => 'pass');
        for (let at = 0; at < all.length; at++) {
          filter.push(Buffer.from(all.subarray(at, at + 1)));
          expect(at + 1 - passed().length).toBeLessThanOrEqual(7);
        }
      }),
    );
  });

  it.each([
    ['no frames', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['a first frame that is too long', framed(Buffer.alloc(MAX_HANDSHAKE_REPLY_BYTES + 1))],
    [
      'a frame that is too long',
      Buffer.concat([HANDSHAKE, reply(1, Buffer.alloc(8)), int(MAX_FRAME_BYTES + 1), Buffer.alloc(99, 7)]),
    ],
    ['a frame of a negative length', Buffer.concat([HANDSHAKE, int(-1), reply(1, Buffer.alloc(3))])],
  ])('passes everything from a peer that sends %s, and keeps nothing from then on', (_, bytes) => {
    fc.assert(
      fc.property(cuts, (at) => {
        const { filter, shown, passed, unreadable } = filtered((xid) => (xid === 1 ? 'pass' : 'keep'));
        for (const piece of pieces(bytes, at)) filter.push(piece);
        filter.push(reply(2, Buffer.alloc(5)));
        filter.end();
        expect(passed()).toEqual(Buffer.concat([bytes, reply(2, Buffer.alloc(5))]));
        expect(shown).toEqual([]);
        expect(unreadable()).toBe(1);
      }),
    );
  });

  it('passes what was held back when the stream ends, and half a frame that was to pass, but none that was to be kept', () => {
    fc.assert(
      fc.property(handling, fc.nat({ max: 20 }), (how, length) => {
        const { filter, passed } = filtered(() => how);
        const half = reply(1, Buffer.alloc(40)).subarray(0, length);
        filter.push(Buffer.concat([HANDSHAKE, half]));
        filter.end();
        const isKept = how === 'keep' && length >= 8;
        expect(passed()).toEqual(isKept ? HANDSHAKE : Buffer.concat([HANDSHAKE, half]));
      }),
    );
  });

  it('lets a frame without an xid pass', () => {
    const short = [framed(Buffer.alloc(0)), framed(Buffer.alloc(3))];
    const { filter, asked, passed } = filtered(() => 'keep');
    filter.push(Buffer.concat([HANDSHAKE, ...short]));
    expect(passed()).toEqual(Buffer.concat([HANDSHAKE, ...short]));
    expect(asked).toEqual([]);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError, ShardEndedError, TermEndedError } from '../../../src/errors.js';
import { LeaseCell, SharedLease } from '../../../src/lease/shared-lease.js';
import { handleOf, heldTerm, type TermHandle } from '../../../src/lease/term-handle.js';

function lasting() {
  const lease = new SharedLease();
  lease.lasts(3_600_000);
  lease.provedAgo(() => 0);
  return new LeaseCell(lease);
}

const TERM = { number: 3, token: 17n };
const SHARD = { number: 3, token: 17n, shard: 'a' };

describe('the term of a handle', () => {
  it.each([[TERM], [SHARD]])('has the number, the token and the name of what is held: %o', (about) => {
    const term = heldTerm(structuredClone(handleOf(lasting(), about)));
    expect({ ...term }).toEqual(about);
    expect(term.isHeld()).toBe(true);
    expect(term.remainingMs()).toBeGreaterThan(3_500_000);
  });

  it('throws the error of a term, or of a shard, with the reason of its end', () => {
    const cell = lasting();
    cell.end('superseded');
    const [term, shard] = [TERM, SHARD].map((about) => heldTerm(handleOf(cell, about)));
    expect(() => term?.assertHeld()).toThrow(new TermEndedError(3, 'superseded'));
    expect(() => shard?.assertHeld()).toThrow(new ShardEndedError('a', 'superseded'));
  });

  it('is shown with its token as text in JSON', () => {
    const shown = [TERM, SHARD].map((about) => JSON.stringify(heldTerm(handleOf(lasting(), about))));
    expect(shown).toEqual(['{"number":3,"token":"17"}', '{"id":"a","number":3,"token":"17"}']);
  });
});

/** As a program would send it that takes no 64-bit numbers in JSON. */
function throughJson(handle: TermHandle): TermHandle {
  const text = JSON.stringify(handle, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  return { ...JSON.parse(text), token: handle.token };
}

describe('a handle', () => {
  const handle = handleOf(lasting(), TERM);
  it.each<[what: string, wrong: unknown]>([
    ['one of another process', { ...handle, pid: process.pid + 1 }],
    ['one with a shard that has no name', { ...handle, shard: 1 }],
    ['one whose memory is not shared', { ...handle, lease: new ArrayBuffer(24) }],
    ['one whose memories are interchanged', { ...handle, lease: handle.end, end: handle.lease }],
    ['one with memory of another layout', { ...handle, lease: new SharedArrayBuffer(32) }],
    ['one with an end of another layout', { ...handle, end: new SharedArrayBuffer(8) }],
    ['one without an end', { ...handle, end: undefined }],
    ['one without a token', { ...handle, token: 17 }],
    ['a token', 17n],
  ])('is refused if it is %s', (_, wrong) => {
    expect(() => heldTerm(wrong as TermHandle)).toThrow(InvalidOptionError);
    expect(() => heldTerm(wrong as TermHandle)).toThrow(
      /^handle is .*: expected a handle of this process, as term\.handle\(\) returns it$/,
    );
  });

  it('is refused if it is a copy made by JSON, also in its own process', () => {
    expect(() => heldTerm(throughJson(handle))).toThrow(InvalidOptionError);
  });

  it('is refused whatever else is given for it', () => {
    fc.assert(
      fc.property(fc.anything(), (wrong) => {
        expect(() => heldTerm(wrong as TermHandle)).toThrow(InvalidOptionError);
      }),
    );
  });
});

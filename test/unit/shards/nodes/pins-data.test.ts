import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../../src/errors.js';
import { parsePins, serializePins } from '../../../../src/shards/nodes/pins-data.js';

describe('the pins', () => {
  it('are read as they were written, whatever the names are', () => {
    const entry = fc.tuple(fc.oneof(fc.string(), fc.constant('__proto__')), fc.string());
    fc.assert(
      fc.property(
        fc.array(entry).map((entries) => new Map(entries)),
        (pins) => {
          expect(parsePins(serializePins(pins))).toEqual(pins);
        },
      ),
    );
  });

  it('are none where nothing was written yet', () => {
    expect(parsePins(Buffer.alloc(0))).toEqual(new Map());
  });

  it('are refused if they take more than 500 kB', () => {
    const many = new Map(Array.from({ length: 5000 }, (_, at) => [String(at), 'm'.repeat(100)]));
    expect(() => serializePins(many)).toThrow(InvalidOptionError);
    expect(() => serializePins(many)).toThrow('pins is "5000 pins": expected pins of 500000 bytes in all');
  });

  it.each([
    '{',
    '{"pins":{}}',
    '{"format":"conclave.pins.1"}',
    '{"format":"conclave.pins.1","pins":null}',
    '{"format":"conclave.pins.1","pins":{"1":2}}',
  ])('aren’t %s', (data) => {
    expect(parsePins(Buffer.from(data))).toBeUndefined();
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { serializeCandidate } from '../../../../src/election/nodes/candidate.js';
import { withPriorityMark, withRequest } from '../../../../src/election/nodes/candidate-request.js';
import { nextInLineIfAt } from '../../../../src/election/successor/next-in-line.js';

const PLAIN = serializeCandidate('leader', 'data');
const NOTED = withPriorityMark(PLAIN) as Buffer;
const ASKED = withRequest(PLAIN, { kind: 'step-down', key: 'k', by: 'operator', graceMs: 5 }) as Buffer;
const nodeOf = (data: Buffer, version = 3) => ({ data, version });

describe('a leader whose term ends', () => {
  it.each([
    ['nothing has been written on its node', PLAIN, 0],
    ['it has changed what it advertises', PLAIN, 7],
    ['it was asked to step down', ASKED, 1],
  ])('may give it back at once if nobody with a priority stood in the queue, and %s', (_, data, version) => {
    expect(nextInLineIfAt({ preferable: false, own: nodeOf(data, version) })).toBe(version);
  });

  it.each([
    ['somebody with a priority stood there', { preferable: true, own: nodeOf(PLAIN) }],
    ['it does not know who stands there', { preferable: undefined, own: nodeOf(PLAIN) }],
    ['somebody has noted that one with a priority has come', { preferable: false, own: nodeOf(NOTED) }],
    ['its node can not carry a note', { preferable: false, own: nodeOf(Buffer.from('<html>')) }],
    ['it has not read its node', { preferable: false, own: undefined }],
  ])('looks at the queue before, if %s', (_, knowledge) => {
    expect(nextInLineIfAt(knowledge)).toBeUndefined();
  });

  it('looks at the queue whenever there is a note, whatever else its node says', () => {
    const said = fc.oneof(fc.string(), fc.uint8Array(), fc.constant(undefined));
    fc.assert(
      fc.property(fc.string(), said, fc.nat(), (id, data, version) => {
        const noted = withPriorityMark(serializeCandidate(id, data)) as Buffer;
        expect(nextInLineIfAt({ preferable: false, own: nodeOf(noted, version) })).toBeUndefined();
      }),
    );
  });
});

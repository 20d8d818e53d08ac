import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { serializeCandidate } from '../../../../src/election/nodes/candidate.js';
import { withPriorityMark, withRequest } from '../../../../src/election/nodes/candidate-request.js';
import { nextInLineIfAt } from '../../../../src/election/successor/next-in-line.js';

const PLAIN = serializeCandidate('leader', 'data');
const MARKED = withPriorityMark(PLAIN) as Buffer;
const REQUESTED = withRequest(PLAIN, { kind: 'step-down', key: 'k', by: 'operator', graceMs: 5 }) as Buffer;
const nodeOf = (data: Buffer, version = 3) => ({ data, version });

describe('a leader whose term ends', () => {
  it.each([
    ['nothing has been written on its node', PLAIN, 0],
    ['it has changed what it advertises', PLAIN, 7],
    ['it was asked to step down', REQUESTED, 1],
  ])(
    'may give it back at once if no candidate with a priority was in the queue, and %s',
    (_, data, version) => {
      expect(nextInLineIfAt({ preferable: false, node: nodeOf(data, version) })).toBe(version);
    },
  );

  it.each([
    ['a candidate with a priority was there', { preferable: true, node: nodeOf(PLAIN) }],
    ['it does not know its queue', { preferable: undefined, node: nodeOf(PLAIN) }],
    ['a candidate with a priority has marked its node', { preferable: false, node: nodeOf(MARKED) }],
    ['its node can not carry a mark', { preferable: false, node: nodeOf(Buffer.from('<html>')) }],
    ['it has not read its node', { preferable: false, node: undefined }],
  ])('reads the queue before, if %s', (_, knowledge) => {
    expect(nextInLineIfAt(knowledge)).toBeUndefined();
  });

  it('reads the queue whenever its node is marked, whatever else the node says', () => {
    const said = fc.oneof(fc.string(), fc.uint8Array(), fc.constant(undefined));
    fc.assert(
      fc.property(fc.string(), said, fc.nat(), (id, data, version) => {
        const marked = withPriorityMark(serializeCandidate(id, data)) as Buffer;
        expect(nextInLineIfAt({ preferable: false, node: nodeOf(marked, version) })).toBeUndefined();
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ChildMessage,
  type ChildReport,
  decodeChildMessage,
  decodeGuardianMessage,
  encodeChildMessage,
  encodeGuardianMessage,
  sessionName,
} from '../../../../src/cluster/dead-children/guardian-messages.js';

const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const path = fc
  .array(
    fc.string({ minLength: 1 }).filter((part) => !part.includes('/')),
    { minLength: 1 },
  )
  .map((parts) => `/${parts.join('/')}`);
const session = id.map(sessionName);
const message: fc.Arbitrary<ChildMessage> = fc.oneof(
  fc
    .record({
      id,
      password: fc.uint8Array({ minLength: 16, maxLength: 16 }),
      timeoutMs: fc.integer({ min: 1 }),
    })
    .map(({ id, password, timeoutMs }) => ({
      kind: 'opened' as const,
      session: sessionName(id),
      credentials: { id, password: Buffer.from(password) },
      timeoutMs,
    })),
  fc.record({ kind: fc.constantFrom('waits' as const, 'left' as const), session, election: path }),
  fc.record({
    kind: fc.constant('leads' as const),
    session,
    election: path,
    claim: fc.record({ record: path, version: fc.nat(), term: fc.nat(), node: path }),
  }),
  fc.record({ kind: fc.constant('over' as const), session }),
);

const report: fc.Arbitrary<ChildReport> = fc.record({ pid: fc.integer({ min: 1 }), message });

/** A message as it arrives over a channel with the default serialization. */
const sent = (message: object): unknown => JSON.parse(JSON.stringify(message));

describe('what a process sends its guardian', () => {
  it('arrives as it was said', () => {
    fc.assert(
      fc.property(report, (each) => {
        expect(decodeChildMessage(sent(encodeChildMessage(each)))).toEqual(each);
      }),
    );
  });

  it('is nothing that the application has said, nor a broken word', () => {
    fc.assert(
      fc.property(fc.anything(), (anything) => {
        expect(decodeChildMessage(anything)).toBeUndefined();
        expect(decodeChildMessage({ conclave: anything })).toBeUndefined();
        expect(decodeGuardianMessage(anything)).toBeUndefined();
      }),
    );
  });

  it.each([
    { kind: 'over' },
    { kind: 'over', session: '7' },
    { kind: 'over', session: '0x12345678901234567' },
    { kind: 'over', session: '0x07' }, // Another spelling of the id of a session, which may belong to another process.
    { kind: 'waits', session: '0x7' },
    { kind: 'waits', session: '0x7', election: 'scheduler' },
    { kind: 'leads', session: '0x7', election: '/e' },
    { kind: 'leads', session: '0x7', election: '/e', deed: { record: '/e', version: 1, term: 1 } },
    {
      kind: 'leads',
      session: '0x7',
      election: '/e',
      deed: { record: '/e', version: -1, term: 1, node: '/e/n' },
    },
    { kind: 'opened', session: '0x7', password: 'AAAA' },
    { kind: 'opened', session: '0x7', password: 'AAAA', timeoutMs: 0 },
    { kind: 'opened', session: '0x7', timeoutMs: 5000 },
    { kind: 'closed', session: '0x7' },
    { kind: 'opened', session: '0x7', password: 'A'.repeat(129), timeoutMs: 5000 },
    { kind: 'waits', session: '0x7', election: `/${'e'.repeat(8448)}` },
  ])('is not taken for a message when it is incomplete, or too long: %j', (content) => {
    expect(decodeChildMessage({ conclave: { format: 1, pid: 7, ...content } })).toBeUndefined();
  });

  it('has a form that other versions read: the claim is called a deed in it', () => {
    const claim = { record: '/e', version: 1, term: 1, node: '/e/n' };
    const leads = { kind: 'leads', session: '0x7', election: '/e' } as const;
    expect(encodeChildMessage({ pid: 7, message: { ...leads, claim } })).toEqual({
      conclave: { format: 1, pid: 7, ...leads, deed: claim },
    });
  });

  it('is not understood when it comes from another format', () => {
    const over = { format: 1, pid: 7, kind: 'over', session: '0x7' };
    expect(decodeChildMessage({ conclave: over })).toBeDefined();
    expect(decodeChildMessage({ conclave: { ...over, format: 2 } })).toBeUndefined();
  });

  it.each([undefined, '7', -7, 7.5])(
    'is not understood when it does not say which process it is from: %j',
    (pid) => {
      const over = { format: 1, pid, kind: 'over', session: '0x7' };
      expect(decodeChildMessage({ conclave: over })).toBeUndefined();
    },
  );
});

describe('what a guardian sends', () => {
  it.each(['attach', 'detach'] as const)('arrives as it was sent: %s', (each) => {
    const message = { kind: each, guardian: 'g1' };
    expect(decodeGuardianMessage(sent(encodeGuardianMessage(message)))).toEqual(message);
  });

  it.each([undefined, 7, 'g'.repeat(65)])(
    'is not understood when it does not say which guardian it is: %j',
    (guardian) => {
      expect(decodeGuardianMessage({ conclave: { format: 1, word: 'greeting', guardian } })).toBeUndefined();
    },
  );

  it('has a form that other versions read', () => {
    const forms = (['attach', 'detach'] as const).map((kind) =>
      encodeGuardianMessage({ kind, guardian: 'g1' }),
    );
    const words = ['greeting', 'farewell'];
    expect(forms).toEqual(words.map((word) => ({ conclave: { format: 1, word, guardian: 'g1' } })));
  });
});

it('a session’s name is its id as ZooKeeper writes it', () => {
  expect(sessionName(0x1000abcd0001n)).toBe('0x1000abcd0001');
  expect(sessionName(-1n)).toBe('0xffffffffffffffff');
});

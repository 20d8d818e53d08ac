import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nearestName } from '../../../src/platform/nearest-name.js';

const NAMES = ['connect', 'path', 'id', 'lead', 'leaseMs', 'session', 'sessionTimeoutMs', 'auth', 'tls'];

describe('the name that was probably meant', () => {
  it.each([
    ['Auth', 'auth'],
    ['auht', 'auth'],
    ['TLS', 'tls'],
    ['lease', 'leaseMs'],
    ['leaseMS', 'leaseMs'],
    ['conect', 'connect'],
    ['sess', 'session'],
    ['connects', 'connect'],
    ['sesion', 'session'],
    ['sessionTimeout', 'sessionTimeoutMs'],
    ['sesssionTimout', 'sessionTimeoutMs'],
    ['ip', undefined],
    ['', undefined],
    ['leader', undefined],
    ['credentials', undefined],
    ['x'.repeat(100_000), undefined],
  ])('by %.20s is %s', (given, meant) => {
    expect(nearestName(given, NAMES)).toBe(meant);
  });

  it('is the name itself, whatever else there is', () => {
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), fc.shuffledSubarray(NAMES), (name, others) => {
        expect(nearestName(name, [...others, name])).toBe(name);
      }),
    );
  });

  it('is one of the names, or none, for any text', () => {
    fc.assert(
      fc.property(fc.string(), (given) => {
        expect([...NAMES, undefined]).toContain(nearestName(given, NAMES));
      }),
    );
  });
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  baseUrlOf,
  hashOf,
  type Route,
  routeOf,
} from '../../../../../src/dashboard/page/model/address-hash.js';

it('an address says what is open and searched for, whatever the path', () => {
  const open = fc.option(
    fc.record({
      kind: fc.constantFrom('election' as const, 'lock' as const, 'group' as const),
      path: fc.string({ unit: 'grapheme' }),
    }),
  );
  fc.assert(
    fc.property(fc.record({ open, query: fc.string({ unit: 'grapheme' }) }), (route: Route) => {
      expect(routeOf(hashOf(route))).toEqual(route);
    }),
  );
});

it('an address that says nothing, or something else, opens nothing', () => {
  expect(routeOf('')).toEqual({ open: null, query: '' });
  expect(routeOf('#%E0%A4%A&x=1')).toEqual({ open: null, query: '' });
});

it.each([
  ['http://host/', 'http://host/'],
  ['http://host:7070/?x=1#election=%2Fa', 'http://host:7070/'],
  ['https://host/admin/conclave', 'https://host/admin/conclave/'],
  ['https://host/admin/conclave/', 'https://host/admin/conclave/'],
])('of %s is %s', (href, base) => {
  expect(baseUrlOf(href)).toBe(base);
});

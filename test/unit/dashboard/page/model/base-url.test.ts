import { expect, it } from 'vitest';
import { baseUrlOf } from '../../../../../src/dashboard/page/model/base-url.js';

it.each([
  ['http://host/', 'http://host/'],
  ['http://host:7070/?x=1#election=%2Fa', 'http://host:7070/'],
  ['https://host/admin/conclave', 'https://host/admin/conclave/'],
  ['https://host/admin/conclave/', 'https://host/admin/conclave/'],
])('of %s is %s', (href, base) => {
  expect(baseUrlOf(href)).toBe(base);
});

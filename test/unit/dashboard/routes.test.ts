import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { methodsOf, routeOf } from '../../../src/dashboard/routes.js';

describe('the path of a request', () => {
  it.each([
    ['/', { name: 'page' }],
    ['', { name: 'page' }],
    ['/admin/conclave', { name: 'page' }],
    ['/admin/conclave/', { name: 'page' }],
    ['/favicon.ico', { name: 'unknown' }],
    ['/api/state', { name: 'state' }],
    ['/admin/conclave/api/events', { name: 'events' }],
    ['/api/conclave/api/locks', { name: 'locks' }],
    ['/api/conclave/', { name: 'page' }],
    ['/api/nothing', { name: 'unknown' }],
    ['/healthz', { name: 'healthz' }],
    ['/api/conclave/healthz', { name: 'healthz' }],
    ['/api/elections//healthz', { name: 'election', path: '/healthz' }],
    ['/api/elections/%2Felections%2Fa', { name: 'election', path: '/elections/a' }],
    [
      '/api/elections//elections/a/hand-over',
      { name: 'election-action', path: '/elections/a', action: 'hand-over' },
    ],
    ['/x/api/elections//api/elections/a', { name: 'election', path: '/api/elections/a' }],
    ['/api/elections/%E0%A4%A', { name: 'unknown' }],
    ['/api/groups/%2Fg/move', { name: 'group-action', path: '/g', action: 'move' }],
    ['/api/groups/%2Fg/resign', { name: 'unknown' }],
  ])('%s asks for %o', (path, expected) => {
    expect(routeOf(path)).toEqual(expected);
  });

  it('is looked at below the mount if that was given, whether or not the framework has cut that off', () => {
    expect(routeOf('/api/conclave', '/api/conclave')).toEqual({ name: 'page' });
    expect(routeOf('/api/conclave/api/state', '/api/conclave')).toEqual({ name: 'state' });
    expect(routeOf('/api/state', '/api/conclave')).toEqual({ name: 'state' });
    expect(routeOf('/api/conclavex/api/state', '/api/conclave')).toEqual({ name: 'unknown' });
  });

  it('names any election that was encoded, below any mount', () => {
    const mount = fc.constantFrom('', '/admin', '/api', '/api/conclave', '/a/healthz');
    const action = fc.constantFrom('resign', 'hand-over', 'revoke');
    fc.assert(
      fc.property(mount, fc.string({ unit: 'grapheme', minLength: 1 }), action, (before, name, act) => {
        const path = `/${name}`;
        const encoded = `${before}/api/elections/${encodeURIComponent(path)}`;
        expect(routeOf(`${encoded}/${act}`)).toEqual({ name: 'election-action', path, action: act });
      }),
    );
  });

  it('may be asked for by POST for an action alone', () => {
    expect(methodsOf({ name: 'election-action', path: '/a', action: 'resign' })).toEqual(['POST']);
    expect(methodsOf({ name: 'page' })).toEqual(['GET', 'HEAD']);
    expect(methodsOf({ name: 'events' })).toEqual(['GET']);
  });
});

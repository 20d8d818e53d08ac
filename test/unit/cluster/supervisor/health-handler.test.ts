import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HealthSource, healthHandler } from '../../../../src/cluster/supervisor/health-handler.js';
import { InvalidOptionError } from '../../../../src/errors.js';

const WELL = { live: true, ready: true, reasons: [] };
const TERM = {
  number: 7,
  token: 2n ** 60n + 1n,
  isHeld: () => true,
  remainingMs: () => 1234.5,
};

const waiting: HealthSource = { id: 'one', health: () => WELL, term: undefined };
const leading: HealthSource = { ...waiting, term: TERM };
const shards: HealthSource = { id: 'member', health: () => WELL };

async function ask(source: HealthSource, path: string, method = 'GET') {
  const answer = await healthHandler(source)(new Request(`http://localhost${path}`, { method }));
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: text === '' ? undefined : JSON.parse(text) };
}

describe('a health check', () => {
  it.each([
    ['/livez', { live: true, ready: false }, 200],
    ['/livez', { live: false, ready: false }, 503],
    ['/readyz', { live: true, ready: true }, 200],
    ['/readyz', { live: true, ready: false }, 503],
  ])(
    'of %s with %j is answered by %i, with what the supervisor says of itself',
    async (path, flags, status) => {
      const health = { ...flags, reasons: ['no server for 7 ms'] };
      const found = await ask({ ...waiting, health: () => health }, path);
      expect([found.status, found.body]).toEqual([status, health]);
      expect(found.headers.get('content-type')).toBe('application/json');
      expect(found.headers.get('cache-control')).toBe('no-store');
    },
  );

  it('is ready while another candidate leads: ready is not leading', async () => {
    expect((await ask(waiting, '/readyz')).status).toBe(200);
    expect((await ask(waiting, '/leader')).status).toBe(503);
  });

  it('of the leader has its term, with the token in full', async () => {
    const { status, body } = await ask(leading, '/leader');
    expect([status, body]).toEqual([
      200,
      { leading: true, id: 'one', term: 7, token: '1152921504606846977', remainingMs: 1234 },
    ]);
  });

  it('asks the lease, and not only whether there is a term', async () => {
    const lost = { ...leading, term: { ...TERM, isHeld: () => false } };
    const { status, body } = await ask(lost, '/leader');
    expect([status, body]).toEqual([503, { leading: false, id: 'one' }]);
  });

  it('finds no leader of a group of shards', async () => {
    expect((await ask(shards, '/leader')).status).toBe(404);
    expect((await ask(shards, '/readyz')).status).toBe(200);
  });

  it('is answered wherever it is mounted, and nowhere else', async () => {
    const prefix = fc
      .array(fc.stringMatching(/^[\w.~-]+$/))
      .map((parts) => parts.map((part) => `/${part}`).join(''));
    const page = fc.constantFrom('livez', 'readyz', 'leader');
    await fc.assert(
      fc.asyncProperty(prefix, page, async (mounted, name) => {
        expect((await ask(leading, `${mounted}/${name}?verbose=1`)).status).toBe(200);
        expect((await ask(leading, `${mounted}/${name}/more`)).status).toBe(404);
        expect((await ask(leading, `${mounted}/x${name}`)).status).toBe(404);
      }),
    );
    expect((await ask(leading, '/')).status).toBe(404);
  });

  it('by HEAD has no body, and the same status and headers', async () => {
    const [get, head] = [await ask(waiting, '/leader'), await ask(waiting, '/leader', 'HEAD')];
    expect([head.status, head.body]).toEqual([503, undefined]);
    expect([...head.headers]).toEqual([...get.headers]);
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])('by %s is not allowed', async (method) => {
    const { status, headers } = await ask(waiting, '/livez', method);
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await ask(waiting, '/other', method)).status).toBe(404);
  });

  it.each([undefined, null, {}, 'supervisor'])('can not be made of %j', (wrong) => {
    expect(() => healthHandler(wrong as unknown as HealthSource)).toThrow(InvalidOptionError);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../src/errors.js';
import { PostgresFence } from '../../../src/fence/postgres-fence.js';
import { RedisFence } from '../../../src/fence/redis-fence.js';
import { literal, type Query, quotedTable, rowsOf } from '../../../src/fence/sql-queries.js';

const none = async () => [];

describe('a text in a statement', () => {
  it('has nothing that a client could take for a parameter, nor a server for the end of the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const written = literal(text);
        expect(written).toMatch(/^(?:'[\w ./-]*'|E'(?:[\w ./-]|\\u[0-9a-f]{4}|\\U[0-9a-f]{8})*')$/);
        const read = written
          .replace(/^E?'|'$/g, '')
          .replace(/\\u(.{4})|\\U(.{8})/g, (_, short, long) =>
            String.fromCodePoint(Number.parseInt(short ?? long, 16)),
          );
        expect(read).toBe(text);
      }),
    );
    expect(literal('seat 1/2')).toBe("'seat 1/2'");
    expect(literal("o'clock? :a $1 \\")).not.toMatch(/[?:$]/);
  });
});

describe('the name of a table', () => {
  it('is quoted, with its schema', () => {
    expect(quotedTable('conclave_fence')).toBe('"conclave_fence"');
    expect(quotedTable('App.fence')).toBe('"App"."fence"');
  });

  it.each(['', '.', 'a.', 'a.b.c', '1a', 'a b', 'a"b', 'a;', undefined, 7])('is refused: %s', (name) => {
    expect(() => quotedTable(name)).toThrow(InvalidOptionError);
    const options = { table: name } as never;
    if (name !== undefined) expect(() => new PostgresFence(none, 'r', options)).toThrow('table');
  });
});

describe('the rows of a client', () => {
  it.each([
    [[{ token: '1' }], [{ token: '1' }]],
    [[], []],
    [{ rows: [{ token: '1' }] }, [{ token: '1' }]],
    [{ rows: [] }, []],
    [[[{ token: '1' }], 1], [{ token: '1' }]],
    [[[], 0], []],
  ])('are found in %j', (result, rows) => {
    expect(rowsOf(result)).toEqual(rows);
  });

  it.each([undefined, null, 7, {}, { rows: 1 }])('aren’t found in %j, which is refused', (result) => {
    expect(() => rowsOf(result)).toThrow(InvalidOptionError);
  });
});

describe('a fence', () => {
  it('refuses wrong arguments with their names', async () => {
    expect(() => new PostgresFence({} as Query, 'r')).toThrow('query');
    expect(() => new PostgresFence(null as unknown as Query, 'r')).toThrow('query');
    expect(() => new PostgresFence(none, '')).toThrow('resource');
    expect(() => new PostgresFence(none, 'a\0b')).toThrow('resource');
    expect(() => new PostgresFence(none, 'r', { tables: 'x' } as never)).toThrow(
      'did you mean options.table',
    );
    expect(() => new RedisFence({} as never, 'k')).toThrow('client');
    expect(() => new RedisFence(none, 7 as never)).toThrow('key');
    for (const token of [1, '1', -1n, 2n ** 63n, undefined]) {
      const wrong = { token } as never;
      await expect(new PostgresFence(none, 'r').enter(wrong)).rejects.toThrow('holder');
      await expect(new RedisFence(none, 'k').enter(wrong)).rejects.toThrow('holder');
    }
    for (const wrong of ['set', [1], [], ['set', {}], ['set', undefined]])
      await expect(new RedisFence(none, 'k').run([wrong as never], { token: 1n })).rejects.toThrow(
        'commands',
      );
    for (const wrong of ['get', undefined, null, [undefined]])
      await expect(new RedisFence(none, 'k').run(wrong as never, { token: 1n })).rejects.toThrow(
        InvalidOptionError,
      );
    for (const wrong of ['balance', null, [7]]) // A text was sent as one key for each character.
      await expect(new RedisFence(none, 'k').run([], { token: 1n }, wrong as never)).rejects.toThrow(
        'keys is',
      );
  });

  it('without a holder is that of the current term, and there is none here', async () => {
    await expect(new PostgresFence(none, 'r').enter()).rejects.toThrow('currentTerm()');
    await expect(new RedisFence(none, 'k').run([['get', 'a']])).rejects.toThrow('currentTerm()');
  });
});

import { InvalidOptionError } from '../errors.js';

/**
 * Runs one statement, and gives its rows. The statement has no parameters. Most clients fit as they are, or by one line:
 * `(sql) => tx.unsafe(sql)` (postgres.js), `(sql) => tx.raw(sql)` (Knex).
 */
export type Query =
  | ((sql: string) => unknown)
  | {
      /** Runs one statement. */
      query(sql: string): unknown;
    };

/**
 * The rows that a client returned: itself an array, `{ rows }` (pg), or `[rows, metadata]` (Sequelize).
 * @throws InvalidOptionError if the client returned anything else
 */
export function rowsOf(result: unknown): readonly Record<string, unknown>[] {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | undefined | null)?.rows;
  if (Array.isArray(rows)) return Array.isArray(rows[0]) ? rows[0] : rows;
  throw new InvalidOptionError(
    'query',
    result,
    'a function that returns rows: an array, or an object with `rows`',
  );
}

/** @throws InvalidOptionError unless `query` is a function, or an object that has such a method */
export function checkQuery(query: Query): (sql: string) => unknown {
  if (typeof query === 'function') return query;
  if (typeof query?.query === 'function') return (sql) => query.query(sql);
  throw new InvalidOptionError(
    'query',
    query,
    'a function that runs a statement, or an object with `query(sql)`',
  );
}

const IDENTIFIER = /^[\p{L}_][\p{L}\p{N}_$]*$/u;

/** The quoted name of a table. @param name - with or without a schema: `conclave_fence`, `app.conclave_fence` */
export function quotedTable(name: unknown): string {
  const parts = typeof name === 'string' ? name.split('.') : [];
  if (parts.length > 0 && parts.length <= 2 && parts.every((part) => IDENTIFIER.test(part)))
    return parts.map((part) => `"${part}"`).join('.');
  throw new InvalidOptionError(
    'table',
    name,
    'the name of a table, with or without a schema: app.conclave_fence',
  );
}

/**
 * A text as PostgreSQL's literal. All but letters, digits and a few others are escaped: clients take `?`, `$1` or `:name` in a statement
 * for parameters, and a server may read backslashes in either way.
 */
export function literal(text: string): string {
  if (/^[\w ./-]*$/.test(text)) return `'${text}'`;
  const escaped = [...text].map((character) => {
    if (/[\w ./-]/.test(character)) return character;
    const code = (character.codePointAt(0) as number).toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
  });
  return `E'${escaped.join('')}'`;
}

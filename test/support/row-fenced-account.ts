/**
 * The statements of docs/fencing.md with a fence in each row, of an account whose balance only the newest leader can change. Each row has the
 * highest token that it has seen, and each write compares its own token in the statement that writes: between a check and a separate write, a
 * leader could be suspended for so long that it is replaced.
 *
 * PostgreSQL makes this safe at its default isolation, READ COMMITTED: a statement that has waited for the row lock of another
 * transaction evaluates its condition again, on the row as that transaction has left it.
 */
import { Client } from 'pg';

/** The row has seen the token of a later leader: the term of the leader that writes is over. */
export class FencedOutError extends Error {
  constructor(id: string, token: bigint) {
    super(`fenced out: a leader with a higher token than ${token} has taken over account ${id}`);
    this.name = 'FencedOutError';
  }
}

/**
 * Opens a connection for one term, so that no statement of an earlier term is outstanding on it.
 *
 * @param schema - where the table is, or will be
 * @param idleInTransactionMs - A leader that is suspended in a transaction keeps its row locks, and its kernel keeps the
 *   connection. After this time the server ends both; otherwise the next leader would wait.
 */
export async function connect(
  connectionString: string,
  schema: string,
  idleInTransactionMs = 1000,
): Promise<Client> {
  const client = new Client({
    connectionString,
    options: `-c search_path=${schema}`,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  });
  // Emitted when the connection ends without an outstanding query. Without a listener it would end the process. The next query
  // rejects.
  client.on('error', (error) => console.error(`PostgreSQL: ${error.message}`));
  await client.connect();
  return client;
}

export async function createTable(client: Client) {
  await client.query(
    'CREATE TABLE balance (id text PRIMARY KEY, value bigint NOT NULL, fence bigint NOT NULL)',
  );
}

/** A leader's access to an account. Every method rejects with a {@link FencedOutError} once a later leader has begun. */
export class Account {
  readonly #client: Client;
  readonly #id: string;
  readonly #token: bigint;

  /** @param client - a connection of this leader's own, not a pool: a transaction stays on one connection */
  constructor(client: Client, id: string, { token }: { readonly token: bigint }) {
    this.#client = client;
    this.#id = id;
    this.#token = token;
  }

  /**
   * A new leader's first statement: raises the fence, and only then reads, so that what it has read can't be changed
   * any more by a late write of a former leader. Creates the account if there is none.
   */
  async begin(): Promise<bigint> {
    const { rows } = await this.#client.query<{ value: string }>(
      `INSERT INTO balance (id, value, fence) VALUES ($1, 0, $2)
       ON CONFLICT (id) DO UPDATE SET fence = excluded.fence WHERE balance.fence <= excluded.fence
       RETURNING value`,
      [this.#id, this.#token],
    );
    const [row] = rows;
    if (row === undefined) throw new FencedOutError(this.#id, this.#token);
    return BigInt(row.value); // pg returns a bigint as a string.
  }

  async set(value: bigint) {
    const { rowCount } = await this.#client.query(
      'UPDATE balance SET value = $2, fence = $3 WHERE id = $1 AND fence <= $3',
      [this.#id, value, this.#token],
    );
    if (rowCount === 0) throw new FencedOutError(this.#id, this.#token);
  }

  /**
   * Reads, computes and writes in one transaction. It begins with the fence too: that locks the row, and a leader that was
   * replaced learns of it before it computes.
   */
  async change(compute: (value: bigint) => bigint): Promise<bigint> {
    await this.#client.query('BEGIN');
    try {
      const value = compute(await this.begin());
      await this.set(value);
      await this.#client.query('COMMIT');
      return value;
    } catch (error) {
      // If the rollback fails, the connection and its transaction are gone. Report the first error.
      await this.#client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }
}

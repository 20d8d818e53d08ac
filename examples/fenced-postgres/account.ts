/**
 * An account whose balance only the newest leader can change. Each transaction begins with the fence's check, on the same connection as
 * the write: between a check and a separate write, a leader could be suspended for so long that it is replaced.
 */
import { PostgresFence } from 'conclave/fence';
import { Pool } from 'pg';

/**
 * @param schema - where the tables are, or will be
 * @param idleInTransactionMs - A leader that is suspended in a transaction keeps its row locks, and its kernel keeps the
 *   connection. After this time the server ends both; otherwise the next leader would wait.
 */
export function connect(connectionString: string, schema: string, idleInTransactionMs = 1000): Pool {
  const pool = new Pool({
    connectionString,
    options: `-c search_path=${schema}`,
    idle_in_transaction_session_timeout: idleInTransactionMs,
  });
  // Emitted when an idle connection ends. Without a listener it would end the process.
  pool.on('error', (error) => console.error('PostgreSQL:', error));
  return pool;
}

export class Account {
  readonly #pool: Pool;
  readonly #fence: PostgresFence;
  readonly #id: string;

  constructor(pool: Pool, id: string) {
    this.#pool = pool;
    this.#fence = new PostgresFence(pool, `account ${id}`);
    this.#id = id;
  }

  /** As a migration would, once. */
  async create() {
    await this.#pool.query('CREATE TABLE balance (id text PRIMARY KEY, value bigint NOT NULL)');
    await this.#pool.query(this.#fence.schema);
    await this.#pool.query('INSERT INTO balance VALUES ($1, 0)', [this.#id]);
  }

  /**
   * Reads, computes and writes in one transaction of the current term. Rejects with a `FencedOutError`, and writes nothing, once a later
   * leader has made its first change.
   */
  async change(compute: (value: bigint) => bigint): Promise<bigint> {
    return await this.#fence.transaction(this.#pool, async (client) => {
      const { rows } = await client.query('SELECT value FROM balance WHERE id = $1', [this.#id]);
      const value = compute(BigInt(rows[0].value)); // pg returns a bigint as a string.
      await client.query('UPDATE balance SET value = $2 WHERE id = $1', [this.#id, value]);
      return value;
    });
  }

  /** Anyone may read. */
  async read(): Promise<bigint> {
    const { rows } = await this.#pool.query('SELECT value FROM balance WHERE id = $1', [this.#id]);
    return BigInt(rows[0].value);
  }
}

/**
 * How far each shard has come, in PostgreSQL. One transaction records an event as handled and moves the position on, behind the shard's
 * fence: if two consumers think that they own a shard, only the writes of the newer owner count.
 */
import type { Shard } from 'conclave';
import { PostgresFence } from 'conclave/fence';
import { Pool } from 'pg';

export function connect(connectionString: string, schema: string): Pool {
  const pool = new Pool({
    connectionString,
    options: `-c search_path=${schema}`,
    idle_in_transaction_session_timeout: 1000, // A consumer that stands still mustn't keep its row locked.
  });
  pool.on('error', (error) => console.error('PostgreSQL:', error));
  return pool;
}

/** @param events - of each shard */
export async function createTables(pool: Pool, shards: readonly string[], events: number) {
  await pool.query(new PostgresFence(pool, 'any').schema);
  await pool.query('CREATE TABLE progress (shard text PRIMARY KEY, position int NOT NULL)');
  await pool.query('CREATE TABLE events (shard text, number int, PRIMARY KEY (shard, number))');
  await pool.query('CREATE TABLE handled (at serial PRIMARY KEY, shard text, number int, consumer text)');
  await pool.query('INSERT INTO progress SELECT shard, 0 FROM unnest($1::text[]) shard', [shards]);
  await pool.query(
    'INSERT INTO events SELECT shard, number FROM unnest($1::text[]) shard, generate_series(1, $2::int) number',
    [shards, events],
  );
}

/** One term's access to a shard. */
export class Progress {
  readonly #pool: Pool;
  readonly #shard: Shard;
  readonly #fence: PostgresFence;

  constructor(pool: Pool, shard: Shard) {
    this.#pool = pool;
    this.#shard = shard;
    this.#fence = new PostgresFence(pool, `shard ${shard.id}`);
  }

  /** A new owner enters the fence first, and only then reads where to go on. */
  async begin(): Promise<number> {
    await this.#fence.enter();
    const { rows } = await this.#pool.query<{ position: number }>(
      'SELECT position FROM progress WHERE shard = $1',
      [this.#shard.id],
    );
    return rows[0]?.position ?? 0;
  }

  /** Whether there is an event of that number. */
  async has(number: number): Promise<boolean> {
    const { rowCount } = await this.#pool.query('SELECT 1 FROM events WHERE shard = $1 AND number = $2', [
      this.#shard.id,
      number,
    ]);
    return rowCount === 1;
  }

  /** Handles an event, and moves the position on: both, or neither. */
  async handle(number: number, consumer: string) {
    const { id } = this.#shard;
    await this.#fence.transaction(this.#pool, async (client) => {
      await client.query('INSERT INTO handled (shard, number, consumer) VALUES ($1, $2, $3)', [
        id,
        number,
        consumer,
      ]);
      await client.query('UPDATE progress SET position = $2 WHERE shard = $1', [id, number]);
    });
  }
}

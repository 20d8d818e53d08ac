/**
 * How far each shard has come, in PostgreSQL. One statement records an event as handled and moves the position on, and it compares
 * the token of the shard's term: if two consumers think that they own a shard, only the writes of the newer owner count.
 */
import type { Shard } from 'conclave';
import { Client } from 'pg';

/** The shard has another owner by now. */
export class FencedOutError extends Error {
  constructor(shard: string) {
    super(`fenced out: shard ${shard} has another owner`);
    this.name = 'FencedOutError';
  }
}

export async function connect(connectionString: string, schema: string): Promise<Client> {
  const client = new Client({
    connectionString,
    options: `-c search_path=${schema}`,
    idle_in_transaction_session_timeout: 1000, // A consumer that stands still mustn't keep its row locked.
  });
  client.on('error', (error) => console.error(`PostgreSQL: ${error.message}`));
  await client.connect();
  return client;
}

/** @param events - of each shard */
export async function createTables(client: Client, shards: readonly string[], events: number) {
  await client.query(
    'CREATE TABLE progress (shard text PRIMARY KEY, position int NOT NULL, fence bigint NOT NULL)',
  );
  await client.query('CREATE TABLE events (shard text, number int, PRIMARY KEY (shard, number))');
  await client.query('CREATE TABLE handled (at serial PRIMARY KEY, shard text, number int, consumer text)');
  await client.query(
    'INSERT INTO events SELECT shard, number FROM unnest($1::text[]) shard, generate_series(1, $2::int) number',
    [shards, events],
  );
}

/** One term's access to a shard. */
export class Progress {
  readonly #client: Client;
  readonly #shard: Shard;

  /** @param client - a connection of this term's own */
  constructor(client: Client, shard: Shard) {
    this.#client = client;
    this.#shard = shard;
  }

  /** A new owner's first statement: raises the fence, and only then reads where to go on. */
  async begin(): Promise<number> {
    const { rows } = await this.#client.query<{ position: number }>(
      `INSERT INTO progress (shard, position, fence) VALUES ($1, 0, $2)
       ON CONFLICT (shard) DO UPDATE SET fence = excluded.fence WHERE progress.fence <= excluded.fence
       RETURNING position`,
      [this.#shard.id, this.#shard.token],
    );
    const [row] = rows;
    if (row === undefined) throw new FencedOutError(this.#shard.id);
    return row.position;
  }

  /** Whether there is an event of that number. */
  async has(number: number): Promise<boolean> {
    const { rowCount } = await this.#client.query('SELECT 1 FROM events WHERE shard = $1 AND number = $2', [
      this.#shard.id,
      number,
    ]);
    return rowCount === 1;
  }

  /** Handles an event, and moves the position on: both, or neither. */
  async handle(number: number, consumer: string) {
    const { rowCount } = await this.#client.query(
      `WITH moved AS (
         UPDATE progress SET position = $2, fence = $3 WHERE shard = $1 AND position = $2 - 1 AND fence <= $3 RETURNING shard
       )
       INSERT INTO handled (shard, number, consumer) SELECT shard, $2, $4 FROM moved`,
      [this.#shard.id, number, this.#shard.token, consumer],
    );
    if (rowCount === 0) throw new FencedOutError(this.#shard.id);
  }
}

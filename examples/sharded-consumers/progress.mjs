/**
 * How far each shard has come, in PostgreSQL. An event counts as handled in the statement that moves the position on, and that compares the
 * token of the shard's term: of two consumers that think they own a shard only the newer one's writes count.
 */
import { Client } from 'pg';

/** The shard has another owner by now. */
export class FencedOutError extends Error {
  /** @param {string} shard */
  constructor(shard) {
    super(`fenced out: shard ${shard} has another owner`);
    this.name = 'FencedOutError';
  }
}

/** @param {string} connectionString @param {string} schema */
export async function connect(connectionString, schema) {
  const client = new Client({
    connectionString,
    options: `-c search_path=${schema}`,
    idle_in_transaction_session_timeout: 1000, // A consumer that stands still mustn't keep its row locked.
  });
  client.on('error', (error) => console.error(`PostgreSQL: ${error.message}`));
  await client.connect();
  return client;
}

/** @param {Client} client @param {readonly string[]} shards @param {number} events of each shard */
export async function createTables(client, shards, events) {
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
  #client;
  #shard;

  /** @param {Client} client a connection of this term's own @param {import('conclave').Shard} shard */
  constructor(client, shard) {
    this.#client = client;
    this.#shard = shard;
  }

  /** A new owner's first statement: raises the fence, and only then reads where to go on. */
  async begin() {
    const { rows } = await this.#client.query(
      `INSERT INTO progress (shard, position, fence) VALUES ($1, 0, $2)
       ON CONFLICT (shard) DO UPDATE SET fence = excluded.fence WHERE progress.fence <= excluded.fence
       RETURNING position`,
      [this.#shard.id, this.#shard.token],
    );
    if (rows.length === 0) throw new FencedOutError(this.#shard.id);
    return rows[0].position;
  }

  /** Whether there is an event of that number. @param {number} number */
  async has(number) {
    const { rowCount } = await this.#client.query('SELECT 1 FROM events WHERE shard = $1 AND number = $2', [
      this.#shard.id,
      number,
    ]);
    return rowCount === 1;
  }

  /** Handles an event, and moves the position on: both, or neither. @param {number} number @param {string} consumer */
  async handle(number, consumer) {
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

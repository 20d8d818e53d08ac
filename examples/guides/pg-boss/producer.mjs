/**
 * Sends a job in the transaction that checks the fence: a leader that has been replaced sends nothing.
 *
 *     CREATE TABLE producer (name text PRIMARY KEY, fence bigint NOT NULL);
 *
 * @param {import('pg').Pool} pool
 * @param {import('pg-boss')} boss
 * @param {import('conclave').Term} term
 * @param {string} queue
 * @param {object} data
 */
export async function sendFenced(pool, boss, term, queue, data) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const { rowCount } = await client.query(
      `INSERT INTO producer (name, fence) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET fence = excluded.fence WHERE producer.fence <= excluded.fence`,
      [queue, String(term.token)],
    );
    if (rowCount === 0)
      throw new Error(`fenced out: a later leader than term ${term.number} has sent to ${queue}`);
    /** @type {import('pg-boss').Db['executeSql']} */
    const executeSql = (text, values) => client.query(text, values);
    await boss.send(queue, data, { db: { executeSql } });
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

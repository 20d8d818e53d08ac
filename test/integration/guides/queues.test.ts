import { Worker } from 'bullmq';
import pg from 'pg';
import PgBoss from 'pg-boss';
import { expect, it, onTestFinished } from 'vitest';
import { startRelay } from '../../../examples/guides/bullmq/main.mjs';
import { sendFenced } from '../../../examples/guides/pg-boss/producer.mjs';
import { usePostgres } from '../../../tools/postgres/server.mjs';
import { useRedis } from '../../../tools/redis/server.mjs';
import { connectString, uniquePath } from '../../support/conclave/sessions.js';
import { until } from '../../support/waiting.mjs';

/** A database table of the application, which its replicas share. */
class Outbox {
  readonly #rows: { id: number; payload: object }[] = [];
  readonly #sent = new Set<number>();
  readonly #added: number[] = [];

  constructor(count: number) {
    for (let id = 1; id <= count; id++) this.#rows.push({ id, payload: { order: id } });
  }

  /** One replica's access to the table. Only rows before `diesBefore` can be marked as sent. */
  access({ diesBefore = Number.POSITIVE_INFINITY } = {}) {
    return {
      unsent: async () => this.#rows.filter(({ id }) => !this.#sent.has(id)),
      markSent: async (id: number) => {
        this.#added.push(id);
        if (id >= diesBefore) throw new Error('the database is out of reach');
        this.#sent.add(id);
      },
    };
  }

  get added(): readonly number[] {
    return this.#added;
  }

  get isEmpty(): boolean {
    return this.#sent.size === this.#rows.length;
  }
}

it('the BullMQ producer of the guides gives each job once and in order, though a leader fails between adding and marking', async () => {
  const { url, stop } = await useRedis();
  onTestFinished(stop);
  const redis = { url, maxRetriesPerRequest: null };
  const outbox = new Outbox(6);
  const path = uniquePath('guide');
  const options = { connect: connectString(), path, redis };
  const first = await startRelay({ ...options, outbox: outbox.access({ diesBefore: 4 }) });
  onTestFinished(() => first.stop());
  await until(() => outbox.added.includes(4), 'the failure');
  const second = await startRelay({ ...options, outbox: outbox.access() });
  onTestFinished(() => second.stop());
  await first.stop();
  const handled: number[] = [];
  const worker = new Worker('orders', async ({ data }) => void handled.push(data.order), {
    connection: redis,
  });
  onTestFinished(() => worker.close());
  await until(() => outbox.isEmpty && handled.length === 6, 'all jobs');
  expect(outbox.added.filter((id) => id === 4).length).toBeGreaterThan(1);
  expect(handled).toEqual([1, 2, 3, 4, 5, 6]);
});

it('the pg-boss producer of the guides sends the jobs of the newest leader, and refuses those of one that was replaced', async () => {
  const { connectionString, stop } = await usePostgres();
  onTestFinished(stop);
  const boss = new PgBoss({ connectionString, schema: 'guide_jobs' });
  const pool = new pg.Pool({ connectionString });
  onTestFinished(async () => {
    await pool.query('DROP TABLE producer; DROP SCHEMA guide_jobs CASCADE');
    await pool.end();
  });
  await pool.query('CREATE TABLE producer (name text PRIMARY KEY, fence bigint NOT NULL)');
  await boss.start();
  onTestFinished(() => boss.stop({ graceful: false, wait: true }));
  await boss.createQueue('orders');
  // biome-ignore lint/suspicious/noExplicitAny: it needs a term's number and token only
  const term = (number: number, token: bigint): any => ({ number, token });
  await sendFenced(pool, boss, term(1, 7n), 'orders', { order: 1 });
  await sendFenced(pool, boss, term(2, 9n), 'orders', { order: 2 });
  await expect(sendFenced(pool, boss, term(1, 7n), 'orders', { order: 3 })).rejects.toThrow(
    'fenced out: a later leader than term 1 has sent to orders',
  );
  await sendFenced(pool, boss, term(2, 9n), 'orders', { order: 4 });
  const jobs = await boss.fetch<{ order: number }>('orders', { batchSize: 10 });
  expect(jobs.map(({ data }) => data.order).sort()).toEqual([1, 2, 4]);
});

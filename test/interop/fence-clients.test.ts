import { randomUUID } from 'node:crypto';
import { MikroORM } from '@mikro-orm/postgresql';
import { PrismaPg } from '@prisma/adapter-pg';
import { sql as drizzleSql } from 'drizzle-orm';
import { drizzle as drizzleOfPg } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleOfPostgresJs } from 'drizzle-orm/postgres-js';
import knex from 'knex';
import { Kysely, sql as kyselySql, PostgresDialect } from 'kysely';
import pg from 'pg';
import postgresJs from 'postgres';
import { Sequelize } from 'sequelize';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { FencedOutError } from '../../src/errors.js';
import { PostgresFence } from '../../src/fence/postgres-fence.js';
import type { Query } from '../../src/fence/sql-queries.js';
import { usePostgres } from '../../tools/postgres/server.mjs';
import { PrismaClient } from './prisma/client.mjs';

const schema = `conclave_test_${randomUUID().replaceAll('-', '')}`;
const table = `${schema}.conclave_fence`;
const [FORMER, NEWER] = [{ token: 2n ** 62n }, { token: 2n ** 62n + 1n }];

let postgres: Awaited<ReturnType<typeof usePostgres>>;
let pool: pg.Pool;
/** For clients that take the parts of a connection string. */
let parts: { host: string; port: number; user: string; database: string; password: string };

beforeAll(async () => {
  postgres = await usePostgres();
  pool = new pg.Pool({ connectionString: postgres.connectionString });
  await pool.query(`CREATE SCHEMA ${schema}`);
  await pool.query(new PostgresFence(pool, 'any', { table }).schema);
  const url = new URL(postgres.connectionString.replace('postgresql:///', 'postgresql://localhost/'));
  parts = {
    host: url.searchParams.get('host') ?? url.hostname,
    port: Number(url.searchParams.get('port') ?? (url.port || 5432)),
    user: url.searchParams.get('user') ?? decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: url.pathname.slice(1),
  };
});

afterAll(async () => {
  await pool?.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool?.end();
  await postgres?.stop();
});

/** How a client runs a statement alone, and in a transaction. */
interface Client {
  readonly query: Query;
  transaction(work: (query: Query) => Promise<void>): Promise<unknown>;
}

/** A client of Prisma 7 on the tables of this file. */
function prismaClient() {
  const adapter = new PrismaPg({ connectionString: postgres.connectionString }, { schema });
  const prisma = new PrismaClient({ adapter });
  onTestFinished(() => prisma.$disconnect());
  return prisma;
}

const CLIENTS: Record<string, () => Promise<Client> | Client> = {
  pg: () => ({
    query: pool,
    transaction: async (work) => {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await work(client);
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
  }),
  'postgres.js': () => {
    const sql = postgresJs({ ...parts, onnotice: () => undefined });
    onTestFinished(() => sql.end());
    return {
      query: (text: string) => sql.unsafe(text),
      transaction: (work) => sql.begin((tx) => work((text) => tx.unsafe(text))),
    };
  },
  Knex: () => {
    const db = knex({ client: 'pg', connection: parts });
    onTestFinished(() => db.destroy());
    return {
      query: (text: string) => db.raw(text),
      transaction: (work) => db.transaction((tx) => work((text) => tx.raw(text))),
    };
  },
  'Drizzle with pg': () => {
    const db = drizzleOfPg(pool);
    return {
      query: (text: string) => db.execute(drizzleSql.raw(text)),
      transaction: (work) => db.transaction((tx) => work((text) => tx.execute(drizzleSql.raw(text)))),
    };
  },
  'Drizzle with postgres.js': () => {
    const sql = postgresJs({ ...parts, onnotice: () => undefined });
    onTestFinished(() => sql.end());
    const db = drizzleOfPostgresJs(sql);
    return {
      query: (text: string) => db.execute(drizzleSql.raw(text)),
      transaction: (work) => db.transaction((tx) => work((text) => tx.execute(drizzleSql.raw(text)))),
    };
  },
  Kysely: () => {
    const own = new pg.Pool({ connectionString: postgres.connectionString });
    const db = new Kysely({ dialect: new PostgresDialect({ pool: own }) });
    onTestFinished(() => db.destroy());
    return {
      query: (text: string) => kyselySql.raw(text).execute(db),
      transaction: (work) =>
        db.transaction().execute((tx) => work((text) => kyselySql.raw(text).execute(tx))),
    };
  },
  TypeORM: async () => {
    const { user: username, ...others } = parts;
    const db = await new DataSource({ type: 'postgres', username, ...others }).initialize();
    onTestFinished(() => db.destroy());
    return { query: db, transaction: (work) => db.transaction((manager) => work(manager)) };
  },
  Sequelize: () => {
    const { user: username, ...others } = parts;
    const db = new Sequelize({ dialect: 'postgres', logging: false, username, ...others });
    onTestFinished(() => db.close());
    return {
      query: (text: string) => db.query(text),
      transaction: (work) => db.transaction((transaction) => work((text) => db.query(text, { transaction }))),
    };
  },
  MikroORM: async () => {
    const { database: dbName, ...others } = parts;
    const orm = await MikroORM.init({
      ...others,
      dbName,
      discovery: { warnWhenNoEntities: false },
    });
    onTestFinished(() => orm.close());
    const { em } = orm;
    return {
      query: (text: string) => em.fork().execute(text),
      transaction: (work) => em.fork().transactional((tx) => work((text) => tx.execute(text))),
    };
  },
  Prisma: () => {
    const prisma = prismaClient();
    return {
      query: (text: string) => prisma.$queryRawUnsafe(text),
      transaction: (work) =>
        prisma.$transaction((tx: typeof prisma) => work((text) => tx.$queryRawUnsafe(text))),
    };
  },
};

describe.each(Object.keys(CLIENTS))('a fence with %s', (name) => {
  it('is entered outside of a transaction and checked within, and shuts a former leader out', async () => {
    const client = await (CLIENTS[name] as (typeof CLIENTS)[string])();
    const fence = new PostgresFence(client.query, `o'clock? :a $1 ${randomUUID()}`, { table });
    await fence.enter(FORMER);
    await client.transaction((query) => fence.check(query, FORMER));
    await fence.enter(NEWER);
    await expect(fence.enter(FORMER)).rejects.toBeInstanceOf(FencedOutError);
    const late = client.transaction((query) => fence.check(query, FORMER));
    await expect(late).rejects.toBeInstanceOf(FencedOutError);
    await client.transaction((query) => fence.check(query, NEWER));
  });
});

it.each(['ReadCommitted', 'RepeatableRead', 'Serializable'])(
  'a former leader’s transaction with Prisma writes nothing at %s',
  async (isolationLevel) => {
    const prisma = prismaClient();
    await pool.query(
      `CREATE TABLE IF NOT EXISTS ${schema}."Balance" (id text PRIMARY KEY, value int NOT NULL)`,
    );
    const id = randomUUID();
    await prisma.balance.create({ data: { id, value: 100 } });
    const fence = new PostgresFence((text) => prisma.$queryRawUnsafe(text), id, { table });
    const add = (amount: number, holder: { token: bigint }) =>
      prisma.$transaction(
        async (tx: typeof prisma) => {
          await fence.check((text) => tx.$queryRawUnsafe(text), holder);
          await tx.balance.update({ where: { id }, data: { value: { increment: amount } } });
        },
        { isolationLevel },
      );
    await fence.enter(FORMER);
    await add(1, FORMER);
    await fence.enter(NEWER);
    await expect(add(1000, FORMER)).rejects.toBeInstanceOf(FencedOutError);
    await add(10, NEWER);
    expect(await prisma.balance.findUnique({ where: { id } })).toEqual({ id, value: 111 });
    expect(await prisma.fence.findUnique({ where: { resource: id } })).toEqual({ resource: id, ...NEWER });
  },
);

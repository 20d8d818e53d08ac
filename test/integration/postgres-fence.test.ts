import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FencedOutError, InvalidStateError } from '../../src/errors.js';
import { type IsolationLevel, PostgresFence } from '../../src/fence/postgres-fence.js';
import { withTerm } from '../../src/lease/current-term.js';
import { deferred } from '../../src/platform/async/promises.js';
import { usePostgres } from '../../tools/postgres/server.mjs';
import { lead } from '../support/conclave/electors.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { until } from '../support/waiting.mjs';

const schema = `conclave_test_${randomUUID().replaceAll('-', '')}`;
const LEVELS: readonly IsolationLevel[] = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'];
// Beyond the numbers that JavaScript distinguishes.
const [FORMER, NEWER] = [{ token: 2n ** 62n }, { token: 2n ** 62n + 1n }];

let postgres: Awaited<ReturnType<typeof usePostgres>>;
let pool: pg.Pool;

beforeAll(async () => {
  postgres = await usePostgres();
  pool = new pg.Pool({
    connectionString: postgres.connectionString,
    options: `-c search_path=${schema}`,
    max: 8,
  });
  await pool.query(`CREATE SCHEMA ${schema}`);
  await pool.query('CREATE TABLE balance (id text PRIMARY KEY, value int NOT NULL)');
  await pool.query(new PostgresFence(pool, 'any').schema);
  await pool.query(new PostgresFence(pool, 'any').schema); // A migration may run twice.
});

afterAll(async () => {
  await pool?.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool?.end();
  await postgres?.stop();
});

/** A balance of 100, and the fence of each of two leaders. */
async function balance() {
  const id = randomUUID();
  await pool.query('INSERT INTO balance (id, value) VALUES ($1, 100)', [id]);
  return {
    id,
    ...{ former: new PostgresFence(pool, id), newer: new PostgresFence(pool, id) },
    add: (amount: number) => async (client: pg.PoolClient) => {
      const { rows } = await client.query('SELECT value FROM balance WHERE id = $1', [id]);
      await client.query('UPDATE balance SET value = $2 WHERE id = $1', [id, rows[0].value + amount]);
    },
    now: async () => (await pool.query('SELECT value FROM balance WHERE id = $1', [id])).rows[0].value,
  };
}

/** A transaction that stands still before its work, until `goOn` is called. */
function paused(
  fence: PostgresFence,
  work: (client: pg.PoolClient) => Promise<void>,
  isolation: IsolationLevel,
) {
  const [inside, goOn] = [deferred<void>(), deferred<void>()];
  const done = fence.transaction(
    pool,
    async (client) => {
      inside.resolve();
      await goOn.promise;
      await work(client);
    },
    { isolation },
    FORMER,
  );
  done.catch(() => undefined);
  return { inside: inside.promise, goOn: () => goOn.resolve(), done };
}

/** Runs the work in a transaction of pg's, without a fence. */
async function inTransaction<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } finally {
    client.release(true); // Ends a transaction that is still open.
  }
}

async function aStatementWaits(like = 'INSERT INTO%conclave_fence%'): Promise<void> {
  await until(async () => {
    const { rows } = await pool.query(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1",
      [like],
    );
    return rows.length > 0;
  }, `that ${like} waits`);
}

describe.each(LEVELS)('a transaction of a former leader at %s', (isolation) => {
  it('never commits after another leader has entered', async () => {
    const { former, newer, add, now } = await balance();
    await former.transaction(pool, add(1), { isolation }, FORMER);
    await newer.enter(NEWER);
    await expect(former.transaction(pool, add(1000), { isolation }, FORMER)).rejects.toMatchObject({
      ...{ code: 'FENCED_OUT', token: FORMER.token },
    });
    await newer.transaction(pool, add(10), { isolation }, NEWER);
    expect(await now()).toBe(111);
  });

  it('that has passed the fence is waited for, and the next leader sees what it wrote', async () => {
    const { former, newer, add, now } = await balance();
    const slow = paused(former, add(1), isolation);
    await slow.inside;
    const next = newer.transaction(pool, add(10), { isolation }, NEWER);
    await aStatementWaits();
    slow.goOn();
    await slow.done;
    await next;
    expect(await now()).toBe(111);
  });

  it('that waits for the fence to rise writes nothing, and is fenced out when it is tried again', async () => {
    const { id, former, add, now } = await balance();
    await former.transaction(pool, add(1), { isolation }, FORMER);
    const refused = await inTransaction(async (client) => {
      await client.query('UPDATE conclave_fence SET token = $2 WHERE resource = $1', [id, NEWER.token]);
      const code = isolation === 'READ COMMITTED' ? 'FENCED_OUT' : '40001';
      const late = former.transaction(pool, add(1000), { isolation }, FORMER);
      late.catch(() => undefined);
      await aStatementWaits('SELECT%conclave_fence%FOR SHARE');
      return { late, code };
    });
    await expect(refused.late).rejects.toMatchObject({ code: refused.code });
    const attempt = former.transaction(pool, add(1000), { isolation }, FORMER);
    await expect(attempt).rejects.toMatchObject({ code: 'FENCED_OUT' });
    expect(await now()).toBe(101);
  });

  it('commits over the next leader’s update if it doesn’t check, and computes from what it read before', async () => {
    const { former, newer, add, now } = await balance();
    await former.enter(FORMER);
    const before = await now(); // Outside of a transaction that begins with the check.
    await newer.transaction(pool, add(10), { isolation }, NEWER);
    const client = await pool.connect();
    try {
      await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
      await client.query('UPDATE balance SET value = $1 WHERE value = 110', [before + 1]);
      await client.query('COMMIT');
    } finally {
      client.release();
    }
    expect(await now()).toBe(101); // The 10 are lost: this is what the fence prevents.
    await pool.query('DELETE FROM balance');
  });
});

describe('the fence of a resource', () => {
  it('lets the transactions of one leader run beside each other, and enters once', async () => {
    const { former, add } = await balance();
    const statements: string[] = [];
    const counting = new PostgresFence((sql: string) => {
      statements.push(sql);
      return pool.query(sql);
    }, randomUUID());
    await counting.transaction(pool, () => undefined, undefined, FORMER);
    const inside = [paused(counting, add(0), 'READ COMMITTED'), paused(counting, add(0), 'READ COMMITTED')];
    await Promise.all(inside.map((each) => each.inside)); // Both hold the fence at the same time.
    for (const each of inside) each.goOn();
    await Promise.all(inside.map((each) => each.done));
    expect(statements.filter((sql) => sql.startsWith('INSERT'))).toHaveLength(1);
    await former.enter(FORMER);
    await former.enter(FORMER);
  });

  it('refuses a holder that hasn’t entered, and one whose row is gone', async () => {
    const id = randomUUID();
    const fence = new PostgresFence(pool, id);
    const check = (holder: typeof FORMER) => inTransaction((client) => fence.check(client, holder));
    await expect(check(FORMER)).rejects.toThrow(InvalidStateError);
    await expect(check(FORMER)).rejects.toThrow('call enter()');
    await fence.enter(FORMER);
    await check(FORMER);
    await expect(check(NEWER)).rejects.toThrow(InvalidStateError);
    await fence.transaction(pool, () => undefined, undefined, FORMER);
    await pool.query('DELETE FROM conclave_fence WHERE resource = $1', [id]);
    const again = () => fence.transaction(pool, () => 'written', undefined, FORMER);
    await expect(again()).rejects.toThrow('no row');
    expect(await again()).toBe('written'); // It entered again.
  });

  it('is created by nothing but its schema', async () => {
    const fence = new PostgresFence(pool, randomUUID(), { table: 'no_fence' });
    await expect(fence.enter(FORMER)).rejects.toMatchObject({ code: '42P01' });
    await expect(fence.check(pool, FORMER)).rejects.toMatchObject({ code: '42P01' });
    await pool.query(fence.schema);
    await fence.enter(FORMER);
    await inTransaction((client) => fence.check(client, FORMER));
  });

  it('is that of the current term, without a holder', async () => {
    const [elector, term] = await lead(await openSession(), uniquePath());
    const fence = new PostgresFence(pool, randomUUID());
    const written = await withTerm(term, () => fence.transaction(pool, async () => 'written'));
    expect(written).toBe('written');
    await inTransaction((client) => fence.check(client, { token: term.token }));
    await elector.stop();
  });

  it('rolls back what failed, also when the error of a statement was caught, and gives the connection back', async () => {
    const { former, add, now } = await balance();
    const broken = new Error('broken');
    for (let each = 0; each < 10; each++) {
      const failed = former.transaction(
        pool,
        async (client) => {
          await add(1)(client);
          throw broken;
        },
        undefined,
        FORMER,
      );
      await expect(failed).rejects.toBe(broken);
    }
    const caught = former.transaction(
      pool,
      async (client) => {
        await add(1)(client);
        await client.query('SELECT 1 / 0').catch(() => undefined);
      },
      undefined,
      FORMER,
    );
    await expect(caught).rejects.toThrow(InvalidStateError);
    expect(await now()).toBe(100);
    expect(pool.idleCount).toBe(pool.totalCount);
  });

  it.each(['COMMIT', 'ROLLBACK', 'COMMIT AND CHAIN', 'COMMIT; BEGIN'])(
    'took it for fenced, what the work wrote after a %s of its own',
    async (end) => {
      const { former, add } = await balance();
      const work = async (client: pg.PoolClient) => {
        await client.query(end);
        await add(1)(client);
      };
      await expect(former.transaction(pool, work, undefined, FORMER)).rejects.toThrow(
        'the work has ended the transaction',
      );
      expect(pool.idleCount).toBe(pool.totalCount);
    },
  );

  it('let a check pass that ran outside of a transaction', async () => {
    const { former } = await balance();
    await former.enter(FORMER);
    await expect(former.check(pool, FORMER)).rejects.toThrow('outside of a transaction');
    await inTransaction(async (client) => {
      await client.query('SAVEPOINT inside');
      await former.check(client, FORMER);
    });
  });

  it('rose in a transaction, so that the work in it read from before the raise', async () => {
    const { id } = await balance();
    const entered = inTransaction((client) => new PostgresFence(client, id).enter(FORMER));
    await expect(entered).rejects.toThrow('ran in a transaction');
  });

  it('was waited for by the leader whose own transaction held it', async () => {
    const { id, former } = await balance();
    const slow = paused(former, async () => undefined, 'READ COMMITTED');
    await slow.inside;
    await former.enter(FORMER);
    const inner = new PostgresFence(pool, id); // Of another service of the same leader, whose call the first one waits for.
    await inner.transaction(pool, () => undefined, undefined, FORMER);
    slow.goOn();
    await slow.done;
  });

  it('rose to the term of another election, whose work came through a queue that both share', async () => {
    const session = await openSession();
    const [one, term] = await lead(session, uniquePath());
    const [other, otherTerm] = await lead(session, uniquePath());
    const fence = new PostgresFence(pool, randomUUID());
    await withTerm(term, () => fence.enter());
    const work = () => 'written';
    for (const use of [() => fence.enter(), () => fence.transaction(pool, work).then(() => undefined)])
      await expect(withTerm(otherTerm, use)).rejects.toThrow('AsyncResource.bind()');
    await expect(fence.enter(otherTerm)).rejects.toThrow(InvalidStateError);
    expect(await fence.transaction(pool, work, undefined, term)).toBe('written');
    await one.stop();
    await other.stop();
  });

  it('survives a connection that the server ends in a transaction, and is entered by the next leader', async () => {
    const { former, newer, add, now } = await balance();
    const [killed, goOn] = [deferred<void>(), deferred<void>()];
    const late = former.transaction(
      pool,
      async (client) => {
        await add(1)(client);
        client.on('error', () => killed.resolve());
        await client.query('SET idle_in_transaction_session_timeout = 100');
        await goOn.promise;
        await add(1)(client);
      },
      undefined,
      FORMER,
    );
    late.catch(() => undefined);
    await killed.promise;
    await newer.transaction(pool, add(10), undefined, NEWER);
    goOn.resolve();
    await expect(late).rejects.toThrow();
    expect(await now()).toBe(110);
  });

  it('refuses an unknown isolation level', async () => {
    const fence = new PostgresFence(pool, 'r');
    const options = { isolation: 'READ UNCOMMITTED' } as never;
    await expect(fence.transaction(pool, () => 1, options, FORMER)).rejects.toThrow('options.isolation');
    await expect(fence.enter({ token: 1n })).resolves.toBeUndefined();
    await expect(fence.enter({ token: 0n })).rejects.toThrow(FencedOutError);
  });

  it('may have any name, and a table in another schema', async () => {
    for (const name of ["o'clock? :a $1 \\ é 🦊", 'seat 1/2']) {
      const fence = new PostgresFence(pool, name, { table: `${schema}.conclave_fence` });
      await fence.enter(FORMER);
      const { rows } = await pool.query('SELECT token FROM conclave_fence WHERE resource = $1', [name]);
      expect(rows).toEqual([{ token: String(FORMER.token) }]);
    }
  });
});

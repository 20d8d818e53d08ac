import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { usePostgres } from '../../tools/postgres/server.mjs';
import { nextEvent } from '../support/events.js';
import { Account, connect, createTable, FencedOutError } from '../support/row-fenced-account.js';
import { until } from '../support/waiting.mjs';

const schema = `conclave_test_${randomUUID().replaceAll('-', '')}`;
// Beyond the numbers that JavaScript distinguishes: 2^62 and 2^62 + 1 must not be the same token.
const TOKEN = 2n ** 62n;
// How long a transaction may pause here: longer than a busy machine makes it.
const PATIENCE_MS = 30_000;

let postgres: Awaited<ReturnType<typeof usePostgres>>;
let observer: Client;

beforeAll(async () => {
  postgres = await usePostgres();
  observer = await connect(postgres.connectionString, schema);
  await observer.query(`CREATE SCHEMA ${schema}`);
  await createTable(observer);
  // Every write that takes place is written down. It holds its row's lock then, so that the order is that of the writes.
  await observer.query(`
    CREATE TABLE history (place bigserial, id text, value bigint, fence bigint);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN INSERT INTO history (id, value, fence) VALUES (NEW.id, NEW.value, NEW.fence); RETURN NULL; END';
    CREATE TRIGGER note AFTER INSERT OR UPDATE ON balance FOR EACH ROW EXECUTE FUNCTION note()`);
});

afterAll(async () => {
  await observer?.query(`DROP SCHEMA ${schema} CASCADE`);
  await observer?.end();
  await postgres?.stop();
});

interface Leader {
  readonly account: Account;
  readonly database: Client;
  readonly pid: number;
}

/** A leader with a connection of its own. The first has number 1, its successor 2. */
async function leader(id: string, number: number): Promise<Leader> {
  const database = await connect(postgres.connectionString, schema, PATIENCE_MS);
  onTestFinished(() => database.end());
  const { rows } = await database.query('SELECT pg_backend_pid() AS pid');
  return { account: new Account(database, id, { token: tokenOf(number) }), database, pid: rows[0].pid };
}

/** A former leader of a new account, which has begun, and its successor, which has not. */
async function formerAndSuccessor() {
  const id = randomUUID();
  const [former, successor] = [await leader(id, 1), await leader(id, 2)];
  await former.account.begin();
  return { id, former, successor };
}

const tokenOf = (number: number): bigint => TOKEN + BigInt(number);

/** Resolves when a statement on this connection waits for the lock of another. */
async function isBlocked({ pid }: Leader): Promise<void> {
  await until(async () => {
    const { rows } = await observer.query('SELECT pg_blocking_pids($1) AS pids', [pid]);
    return rows[0].pids.length > 0;
  }, 'that a statement waits');
}

/** Every write to the account that has taken place, in order. */
async function historyOf(id: string): Promise<{ value: bigint; fence: bigint }[]> {
  const { rows } = await observer.query('SELECT value, fence FROM history WHERE id = $1 ORDER BY place', [
    id,
  ]);
  return rows.map(({ value, fence }) => ({ value: BigInt(value), fence: BigInt(fence) }));
}

interface Plan {
  /** How many round trips to the database it lets pass before it begins. */
  readonly delay: number;
  readonly writes: readonly { readonly delay: number; readonly inTransaction: boolean }[];
}

/** Begins and writes until it is done or is refused. The values it writes are written by no other leader. */
async function lead(database: Client, id: string, number: number, plan: Plan) {
  const letPass = async (roundTrips: number) => {
    for (let trip = 0; trip < roundTrips; trip++) await database.query('SELECT');
  };
  const account = new Account(database, id, { token: tokenOf(number) });
  const written: bigint[] = [];
  let attempt: bigint | undefined;
  try {
    await letPass(plan.delay);
    await account.begin();
    for (const [place, { delay, inTransaction }] of plan.writes.entries()) {
      await letPass(delay);
      const value = BigInt(100 * number + place);
      attempt = value;
      await (inTransaction ? account.change(() => value) : account.set(value));
      written.push(value);
    }
    return { number, written, refused: false };
  } catch (error) {
    if (!(error instanceof FencedOutError)) throw error;
    return { number, written, refused: true, attempt };
  }
}

describe('an account that PostgreSQL fences', () => {
  it('takes no write of a former leader after one of its successor, however they interleave', async () => {
    const newest = 4;
    const leaders = await Promise.all([1, 2, 3, newest].map((number) => leader('', number)));
    const write = fc.record({ delay: fc.nat(2), inTransaction: fc.boolean() });
    const writes = fc.array(write, { minLength: 1, maxLength: 6 });
    // A later leader begins later as a rule, but not always.
    const planOf = (number: number) => fc.record({ delay: fc.nat(10 * number), writes });
    let refusals = 0;
    let formerWrites = 0;
    await fc.assert(
      fc.asyncProperty(fc.tuple(...[1, 2, 3, newest].map(planOf)), async (plans) => {
        const id = randomUUID();
        const outcomes = await Promise.all(
          leaders.map(({ database }, index) => lead(database, id, index + 1, plans[index] as Plan)),
        );
        const history = await historyOf(id);
        const inOrder = history.map(({ fence }) => fence - TOKEN);
        expect(inOrder).toEqual(inOrder.toSorted((a, b) => Number(a - b)));
        for (const { number, written, refused, attempt } of outcomes) {
          const fence = tokenOf(number);
          for (const value of written) expect(history).toContainEqual({ value, fence });
          if (refused) expect(history).not.toContainEqual({ value: attempt, fence });
          if (refused) refusals++;
          if (number !== newest) formerWrites += written.length;
        }
        const last = outcomes.find(({ number }) => number === newest);
        expect(last?.refused).toBe(false);
        expect(history.at(-1)).toEqual({ value: last?.written.at(-1), fence: tokenOf(newest) });
      }),
      { numRuns: 40 },
    );
    // There was something to refuse, and not everything was.
    expect(refusals).toBeGreaterThan(0);
    expect(formerWrites).toBeGreaterThan(0);
  });

  it('refuses a write that comes between what the successor read and its first write', async () => {
    const { id, former, successor } = await formerAndSuccessor();
    await former.account.set(100n);
    const read = await successor.account.begin();
    await expect(former.account.set(150n)).rejects.toThrow(FencedOutError);
    await successor.account.set(read + 1n);
    expect((await historyOf(id)).map(({ value }) => value)).toEqual([0n, 100n, 100n, 101n]);
  });

  it('loses such a write if the successor reads without having raised the fence', async () => {
    const { id, former, successor } = await formerAndSuccessor();
    const { rows } = await successor.database.query('SELECT value FROM balance WHERE id = $1', [id]);
    await former.account.set(150n);
    await successor.account.set(BigInt(rows[0].value) + 1n);
    expect((await historyOf(id)).map(({ value }) => value)).toEqual([0n, 150n, 1n]);
  });

  it('lets a write that has begun end before the fence rises, and shows it to the successor', async () => {
    const { former, successor } = await formerAndSuccessor();
    await former.database.query('BEGIN');
    await former.account.set(100n);
    const read = successor.account.begin();
    await isBlocked(successor);
    await former.database.query('COMMIT');
    expect(await read).toBe(100n);
  });

  it('refuses a write that has waited for the fence to rise', async () => {
    const { id, former, successor } = await formerAndSuccessor();
    await successor.database.query('BEGIN');
    await successor.account.begin();
    const late = expect(former.account.set(100n)).rejects.toThrow(FencedOutError);
    await isBlocked(former);
    await successor.database.query('COMMIT');
    await late;
    expect((await historyOf(id)).map(({ fence }) => fence)).toEqual([tokenOf(1), tokenOf(2)]);
  });

  it('takes the lock from a leader that pauses in a transaction, and undoes what that had written', async () => {
    const { id, former, successor } = await formerAndSuccessor();
    const ended = nextEvent<[Error]>(former.database, 'error');
    await former.database.query('BEGIN');
    await former.account.set(100n);
    await former.database.query('SET idle_in_transaction_session_timeout = 200');
    expect(await successor.account.begin()).toBe(0n);
    expect((await ended)[0].message).toBe('terminating connection due to idle-in-transaction timeout');
    await expect(former.account.set(150n)).rejects.toThrow(/connection/);
    expect((await historyOf(id)).map(({ value }) => value)).toEqual([0n, 0n]);
  });
});

describe('the statements of docs/fencing.md', () => {
  const root = join(import.meta.dirname, '../..');
  const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

  async function statements(): Promise<string[]> {
    const text = await readFile(join(root, 'docs/fencing.md'), 'utf8');
    return [...text.matchAll(/```sql\n(.*?)```/gs)]
      .flatMap(([, block = '']) => block.replaceAll(/^--.*$/gm, '').split(';'))
      .map(oneLine)
      .filter((sql) => sql !== '');
  }

  it('are those that the tests run', async () => {
    const account = oneLine(await readFile(join(root, 'test/support/row-fenced-account.ts'), 'utf8'));
    const [createTable, begin, set] = await statements();
    for (const sql of [createTable, begin, set]) expect(account).toContain(sql);
  });

  it('keep new rows of a former leader out, by a fence for many rows', async () => {
    const [, , , createFence = '', raise = '', enter = '', insert = '', ...others] = await statements();
    expect(others).toEqual([]);
    await observer.query(createFence);
    await observer.query('CREATE TABLE entry (id text PRIMARY KEY, text text)');
    const former = await leader('', 1);
    const successor = await leader('', 2);
    const asFormer = ['entries', tokenOf(1)];
    const asSuccessor = ['entries', tokenOf(2)];
    const texts = async () =>
      (await observer.query('SELECT text FROM entry ORDER BY id')).rows.map(({ text }) => text);

    expect((await former.database.query(raise, asFormer)).rowCount).toBe(1);
    expect((await former.database.query(insert, [...asFormer, '1', 'in time'])).rowCount).toBe(1);
    // A transaction that has passed the fence ends before the fence rises: the successor sees what it has written.
    await former.database.query('BEGIN');
    expect((await former.database.query(enter, asFormer)).rowCount).toBe(1);
    await former.database.query("INSERT INTO entry VALUES ('2', 'on its way')");
    const raised = successor.database.query(raise, asSuccessor);
    await isBlocked(successor);
    await former.database.query('COMMIT');
    expect((await raised).rowCount).toBe(1);
    expect(await texts()).toEqual(['in time', 'on its way']);

    expect((await former.database.query(insert, [...asFormer, '3', 'late'])).rowCount).toBe(0);
    expect((await former.database.query(enter, asFormer)).rowCount).toBe(0);
    expect((await former.database.query(raise, asFormer)).rowCount).toBe(0);
    expect((await successor.database.query(insert, [...asSuccessor, '3', 'its own'])).rowCount).toBe(1);
    expect(await texts()).toEqual(['in time', 'on its way', 'its own']);
  });

  it('keep a new row out that has waited for the fence to rise', async () => {
    const [, , , , raise = '', , insert = ''] = await statements();
    const former = await leader('', 1);
    const successor = await leader('', 2);
    await former.database.query(raise, ['waiting', tokenOf(1)]);
    await successor.database.query('BEGIN');
    await successor.database.query(raise, ['waiting', tokenOf(2)]);
    const late = former.database.query(insert, ['waiting', tokenOf(1), 'w', 'late']);
    await isBlocked(former);
    await successor.database.query('COMMIT');
    expect((await late).rowCount).toBe(0);
  });

  const levels = [
    ['READ COMMITTED', 'show the newest line', 151, 'refuse a transaction'],
    ['REPEATABLE READ', 'lose an update', 101, 'fail with 40001 in a transaction'],
    ['SERIALIZABLE', 'fail with 40001', '40001', 'fail with 40001 in a transaction'],
  ] as const;
  describe.each(levels)('at %s', (isolation, raisedInWork, sumOrCode, late) => {
    // A ledger of running sums: who appends to it reads the last line, so a line that is not seen is an update that is lost.
    const append = 'INSERT INTO ledger (id, sum) VALUES ($1, $2)';
    const last = 'SELECT sum::int FROM ledger WHERE id = $1 ORDER BY place DESC LIMIT 1';

    /** A former leader whose transaction has passed the fence and appended 150, and its successor. */
    async function formerWithOpenTransaction() {
      const [, , , createFence = '', raise = '', enter = ''] = await statements();
      await observer.query(createFence.replace('TABLE', 'TABLE IF NOT EXISTS'));
      await observer.query(
        'CREATE TABLE IF NOT EXISTS ledger (place bigserial PRIMARY KEY, id text, sum bigint)',
      );
      const id = randomUUID();
      const former = await leader('', 1);
      const successor = await leader('', 2);
      for (const { database } of [former, successor])
        await database.query(`SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ${isolation}`);
      await former.database.query(raise, [id, tokenOf(1)]);
      await former.database.query(append, [id, 100]);
      await former.database.query('BEGIN');
      expect((await former.database.query(enter, [id, tokenOf(1)])).rowCount).toBe(1);
      await former.database.query(append, [id, 150]);
      return { id, former, successor, raise, enter };
    }

    it('show a successor all that a former leader committed, if the raise is a transaction of its own', async () => {
      const { id, former, successor, raise, enter } = await formerWithOpenTransaction();
      const raised = successor.database.query(raise, [id, tokenOf(2)]);
      await isBlocked(successor);
      await former.database.query('COMMIT');
      expect((await raised).rowCount).toBe(1);

      await successor.database.query('BEGIN');
      expect((await successor.database.query(enter, [id, tokenOf(2)])).rowCount).toBe(1);
      expect((await successor.database.query(last, [id])).rows).toEqual([{ sum: 150 }]);
      await successor.database.query(append, [id, 151]);
      await successor.database.query('COMMIT');
      expect((await former.database.query(enter, [id, tokenOf(1)])).rowCount).toBe(0);
    });

    it(`${raisedInWork} if the raise is the first statement of the successor's working transaction`, async () => {
      const { id, former, successor, raise } = await formerWithOpenTransaction();
      await successor.database.query('BEGIN');
      const raised = successor.database.query(raise, [id, tokenOf(2)]);
      await isBlocked(successor);
      await former.database.query('COMMIT');
      expect((await raised).rowCount).toBe(1); // It has waited, and has seen nothing wrong.
      const work = (async () => {
        const { rows } = await successor.database.query(last, [id]);
        await successor.database.query(append, [id, rows[0].sum + 1]);
        await successor.database.query('COMMIT');
        return rows[0].sum + 1;
      })();
      expect(await work.catch(({ code }) => code)).toBe(sumOrCode);
    });

    it(`${late} of a former leader that has waited for the fence to rise`, async () => {
      const { id, former, successor, raise, enter } = await formerWithOpenTransaction();
      await former.database.query('COMMIT');
      await successor.database.query('BEGIN');
      await successor.database.query(raise, [id, tokenOf(2)]);
      await former.database.query('BEGIN');
      const entered = former.database.query(enter, [id, tokenOf(1)]);
      const outcome = entered.then(
        ({ rowCount }) => rowCount,
        ({ code }) => code,
      );
      await isBlocked(former);
      await successor.database.query('COMMIT');
      expect(await outcome).toBe(late === 'refuse a transaction' ? 0 : '40001');
      await former.database.query('ROLLBACK');
      expect((await former.database.query(enter, [id, tokenOf(1)])).rowCount).toBe(0);
    });

    it('never let a raise on a row that a former leader has just changed read an older value', async () => {
      const { former, successor } = await formerAndSuccessor();
      await former.database.query('BEGIN');
      await former.account.set(150n);
      await successor.database.query(`BEGIN ISOLATION LEVEL ${isolation}`);
      const read = successor.account.begin().catch(({ code }) => code);
      await isBlocked(successor);
      await former.database.query('COMMIT');
      expect(await read).toBe(isolation === 'READ COMMITTED' ? 150n : '40001');
      await successor.database.query('ROLLBACK');
    });
  });
});

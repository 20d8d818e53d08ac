import { FencedOutError, InvalidStateError } from '../errors.js';
import { checkOneOf, checkOptions } from '../platform/checks.js';
import { AcceptedTokens, checkResource, type TokenHolder } from './accepted-tokens.js';
import { checkQuery, literal, type Query, quotedTable, rowsOf } from './sql-queries.js';

/** A connection of pg's pool. */
export interface PoolClient {
  /** Runs one statement. */
  query(sql: string): Promise<unknown>;
  /** Called with `error`, for connections that the server ends. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  /** The counterpart of `on`. */
  off?(event: 'error', listener: (error: Error) => void): unknown;
  /** Gives the connection back. @param error - the connection can't be used any more */
  release(error?: Error): void;
}

/** A pool of connections, as pg has it. */
export interface Pool<Client extends PoolClient> {
  /** Takes a connection out of the pool. */
  connect(): Promise<Client>;
  /** Not called. TypeScript finds the type of pg's clients only if the two signatures are there as in pg. */
  connect(callback: (...args: never[]) => void): void;
}

/** Where the fences are. */
export interface PostgresFenceOptions {
  /** The table with the fences, with or without a schema. @default 'conclave_fence' */
  readonly table?: string;
}

/** How a transaction runs. */
export interface FencedTransactionOptions {
  /** @default 'READ COMMITTED' */
  readonly isolation?: IsolationLevel;
}

const ROLLED_BACK =
  'PostgreSQL has rolled the transaction back: a statement in it failed, and its error was caught';
const IN_FAILED_TRANSACTION = '25P02';
const ENDED_BY_WORK =
  'the work has ended the transaction, by COMMIT or ROLLBACK: what it wrote after that was written without the fence. Leave both to transaction()';
/** Of each statement outside of a transaction, PostgreSQL makes one with an id of its own. */
const TRANSACTION = 'txid_current()::text AS transaction';
/** The isolation levels of PostgreSQL. */
export type IsolationLevel = 'READ COMMITTED' | 'REPEATABLE READ' | 'SERIALIZABLE';
const LEVELS: readonly IsolationLevel[] = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'];

/**
 * Keeps the writes of former leaders out of PostgreSQL. The fence of a resource is a row with the highest token that has entered. A leader
 * enters once, and each of its transactions begins with a check of that row.
 *
 * Guaranteed at READ COMMITTED, REPEATABLE READ and SERIALIZABLE: after {@link enter} has resolved, no transaction of a former leader that
 * begins with {@link check} commits, and each transaction that begins later sees all that they have committed. At the higher levels a
 * transaction may fail with PostgreSQL's code 40001: try it again as a whole, and a former leader's then fails with
 * `FencedOutError`.
 *
 * Not guaranteed: anything for statements outside such transactions, or for what was read before. Two elections that share a resource shut
 * each other out. If a standby takes over that has lost the row, the fence is lost. `enter` waits for transactions that have passed the
 * fence: give sessions an `idle_in_transaction_session_timeout`, or a leader that hangs in one delays its successor. Former transactions
 * that always overlap delay it, too.
 *
 * Where the holder is left out, it is `currentTerm()`.
 *
 * @example
 * ```ts
 * const fence = new PostgresFence(pool, 'balance');
 * // In the leader's work, with pg:
 * await fence.transaction(pool, (client) => client.query('UPDATE balance SET value = value + 1'));
 * ```
 */
export class PostgresFence {
  /** The statement that creates the table, for a migration. Nothing else creates it. */
  readonly schema: string;
  readonly #query: Query;
  readonly #resource: string;
  readonly #table: string;
  readonly #holders: AcceptedTokens;
  /** The newest entry, under way or done, of {@link transaction}. */
  #entry: { readonly token: bigint; readonly done: Promise<void> } | undefined;

  /**
   * @param query - runs a statement *outside* of any transaction, so that it is one of its own: a pool, a client, or a function
   * @param resource - what is protected: a name for each election and for each shard. The first term that uses the fence decides which one
   * @throws InvalidOptionError
   */
  constructor(query: Query, resource: string, options?: PostgresFenceOptions) {
    const { table = 'conclave_fence' } = checkOptions<PostgresFenceOptions>('options', options, ['table']);
    checkQuery(query);
    this.#query = query;
    this.#resource = checkResource('resource', resource);
    this.#table = quotedTable(table);
    this.#holders = new AcceptedTokens(resource);
    this.schema = `CREATE TABLE IF NOT EXISTS ${this.#table} (resource text PRIMARY KEY, token bigint NOT NULL)`;
  }

  /**
   * Raises the fence to the holder's token, in a transaction of its own: call it at the beginning of the leader's work, before you read. A
   * holder may enter again, also while its transactions run. It waits for the transactions of former leaders that have passed the fence.
   *
   * It isn't a part of the first transaction for a reason. At REPEATABLE READ the raise would wait for a former leader's row lock and then
   * succeed, with a snapshot from before that leader's commit.
   *
   * @throws FencedOutError if a later leader has entered. InvalidStateError without a holder outside the work of a term, for a term of another
   *   election or shard than before, and if the statements run in a transaction. Errors of the client as they are: nothing is known then, so
   *   call it again
   */
  async enter(holder?: TokenHolder): Promise<void> {
    await this.#raise(this.#holders.tokenOf(holder));
  }

  /**
   * Checks, as the first statement of a transaction, that no later leader has entered, and keeps later ones out until the transaction ends.
   * Transactions of one leader don't wait for each other.
   *
   * @param query - runs a statement in the transaction
   * @throws FencedOutError if a later leader has entered: roll back. InvalidStateError as {@link enter}, if the holder hasn't entered, if
   *   the row is gone, and if the statements don't run in one transaction
   */
  async check(query: Query, holder?: TokenHolder): Promise<void> {
    const passedIn = await this.#pass(query, this.#holders.tokenOf(holder));
    if ((await transactionOf(query)) !== passedIn)
      throw new InvalidStateError(
        `check() of the fence of ${this.#resource} ran outside of a transaction, or in several: give it the function of your transaction`,
      );
  }

  /** Returns the id of the transaction in which the fence was passed. */
  async #pass(query: Query, token: bigint): Promise<unknown> {
    const where = `FROM ${this.#table} WHERE resource = ${literal(this.#resource)}`;
    const own = await first(query, `SELECT ${TRANSACTION} ${where} AND token = ${token} FOR SHARE`);
    if (own !== undefined) return own.transaction;
    const row = await first(query, `SELECT token::text AS token ${where}`);
    if (row !== undefined && BigInt(String(row.token)) > token)
      throw new FencedOutError(this.#resource, token);
    const why = row === undefined ? 'the table has no row for it' : `its token there is ${row.token}`;
    throw new InvalidStateError(
      `the holder of token ${token} hasn't entered the fence of ${this.#resource} (${why}): call enter() first`,
    );
  }

  /**
   * Runs `work` in a transaction that begins with {@link check}, on a connection of its own, and commits. The first transaction of a holder
   * enters before it begins. Any error rolls the transaction back. The work leaves COMMIT and ROLLBACK to it.
   *
   * @param pool - of pg, or one with the same `connect()`
   * @throws what `enter`, `check`, `work` and the commit throw. InvalidStateError if `work` has caught the error of a statement, or
   *   has ended the transaction: what it wrote after that isn't fenced. If the connection is lost during the commit, the outcome is unknown
   */
  async transaction<Client extends PoolClient, T>(
    pool: Pool<Client>,
    work: (client: Client) => T | PromiseLike<T>,
    options?: FencedTransactionOptions,
    holder?: TokenHolder,
  ): Promise<T> {
    const given = checkOptions<FencedTransactionOptions>('options', options, ['isolation']);
    const isolation = checkOneOf('options.isolation', given.isolation, LEVELS, 'READ COMMITTED');
    const token = this.#holders.tokenOf(holder);
    await this.#enterOnce(token);
    const client = await pool.connect();
    let unusable: Error | undefined;
    // The server may end the connection between two statements. Without a listener that would end the process.
    const onError = (error: Error) => {
      unusable = error;
    };
    client.on?.('error', onError);
    try {
      await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
      const passedIn = await this.#pass(client, token);
      const result = await work(client);
      if ((await transactionOf(client)) !== passedIn) throw new InvalidStateError(ENDED_BY_WORK);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      if (error instanceof InvalidStateError) this.#entry = undefined; // The row is gone: the next transaction enters again.
      await client.query('ROLLBACK').catch(onError);
      throw error;
    } finally {
      client.off?.('error', onError);
      client.release(unusable);
    }
  }

  /** Enters unless this holder was the last to enter here. */
  async #enterOnce(token: bigint): Promise<void> {
    if (this.#entry?.token !== token) {
      const entry = { token, done: this.#raise(token) };
      this.#entry = entry;
      entry.done.catch(() => {
        if (this.#entry === entry) this.#entry = undefined;
      });
    }
    await this.#entry.done;
  }

  async #raise(token: bigint): Promise<void> {
    const where = `WHERE resource = ${literal(this.#resource)}`;
    // The raise waits for all transactions that have passed the fence. Those of this holder needn't be waited for, and may wait for this call.
    const row = await first(this.#query, `SELECT token::text AS token FROM ${this.#table} ${where}`);
    if (row !== undefined && BigInt(String(row.token)) === token) return;
    const raised = await first(
      this.#query,
      `INSERT INTO ${this.#table} AS f (resource, token) VALUES (${literal(this.#resource)}, ${token}) ` +
        'ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE f.token <= excluded.token ' +
        `RETURNING ${TRANSACTION}`,
    );
    if (raised === undefined) throw new FencedOutError(this.#resource, token);
    if ((await transactionOf(this.#query)) === raised.transaction)
      throw new InvalidStateError(
        `enter() of the fence of ${this.#resource} ran in a transaction: give the fence a function that runs each statement alone`,
      );
  }
}

/** The first row that a statement gives. */
async function first(query: Query, sql: string): Promise<Record<string, unknown> | undefined> {
  return rowsOf(await checkQuery(query)(sql))[0];
}

/** The id of the transaction in which the query runs. @throws InvalidStateError if a statement in it has failed */
async function transactionOf(query: Query): Promise<unknown> {
  try {
    return (await first(query, `SELECT ${TRANSACTION}`))?.transaction;
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown };
    throw code === IN_FAILED_TRANSACTION ? new InvalidStateError(ROLLED_BACK) : error;
  }
}

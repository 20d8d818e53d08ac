/** `conclave/fence`: keeps the writes of former leaders out of PostgreSQL and Redis. Both classes use the client that you have. */
export { FencedOutError } from '../errors.js';
export type { TokenHolder } from './accepted-tokens.js';
export {
  type FencedTransactionOptions,
  type IsolationLevel,
  type Pool,
  type PoolClient,
  PostgresFence,
  type PostgresFenceOptions,
} from './postgres-fence.js';
export { type RedisArgument, type RedisClient, type RedisCommand, RedisFence } from './redis-fence.js';
export type { Query } from './sql-queries.js';

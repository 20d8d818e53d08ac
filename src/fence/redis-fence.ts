import { FencedOutError, InvalidOptionError } from '../errors.js';
import { AcceptedTokens, checkResource, type TokenHolder } from './accepted-tokens.js';

/** An argument of a command. Numbers are sent as text. */
export type RedisArgument = string | Buffer | number | bigint;
/** A command with its arguments: `['set', 'balance', '1']`. */
export type RedisCommand = readonly [string, ...RedisArgument[]];
type Sent = string | Buffer;
type Send = (command: readonly Sent[]) => Promise<unknown>;
/**
 * A client of ioredis (`call`) or redis (`sendCommand`), or a function that sends a command as it is and returns the reply. ioredis's
 * `keyPrefix` is refused: it wouldn't reach the keys within the commands.
 */
export type RedisClient =
  | {
      /** Of ioredis. */
      call(command: string, ...args: (string | Buffer)[]): Promise<unknown>;
    }
  | {
      /** Of redis. */
      sendCommand(command: readonly (string | Buffer)[]): Promise<unknown>;
    }
  | ((command: readonly (string | Buffer)[]) => Promise<unknown>);

// Lua's numbers end at 2^53, so tokens are texts of equal length, which compare as the numbers do.
const TOKEN_DIGITS = 20;
// Lua's stack has place for 8,000 values. A longer command would fail after those before it were carried out.
const MOST_WORDS = 7000;
/** `KEYS[1]`: the fence. `ARGV`: the token, then each command after the number of its words. Replies { token } or { token, replies }. */
const SCRIPT = `
local highest = redis.call('get', KEYS[1])
if highest and highest > ARGV[1] then return { highest } end
if highest ~= ARGV[1] then redis.call('set', KEYS[1], ARGV[1]) end
local replies, at = {}, 2
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  replies[#replies + 1] = redis.call(unpack(ARGV, at + 1, last))
  at = last + 1
end
return { ARGV[1], replies }`;

/**
 * Keeps the writes of former leaders out of Redis. One script compares the token with the highest that was seen, raises the fence, and
 * carries out the commands, in one step.
 *
 * Guaranteed, as long as the key is there: after {@link enter} or {@link run} of a leader has resolved, no `run` of a former leader
 * carries anything out.
 *
 * Not guaranteed: that commands are undone if one in their middle fails. Anything after a failover to a replica that lacked the raise: a
 * former leader's `run` may be carried out until the new leader's next one. Anything if the key is evicted: use `noeviction`. Reads
 * outside of `run`.
 *
 * Where the holder is left out, it is `currentTerm()`.
 *
 * @example
 * ```ts
 * const fence = new RedisFence(redis, 'fence:balance');
 * await fence.run([['set', 'balance', '42']]); // In the leader's work.
 * ```
 */
export class RedisFence {
  readonly #send: Send;
  readonly #key: string;
  readonly #holders: AcceptedTokens;

  /**
   * @param key - of the fence: one for each election and for each shard. The first term that uses the fence decides which one
   * @throws InvalidOptionError
   */
  constructor(client: RedisClient, key: string) {
    this.#send = senderOf(client);
    this.#key = checkResource('key', key);
    this.#holders = new AcceptedTokens(key);
  }

  /**
   * Raises the fence to the holder's token: call it at the beginning of the leader's work, before you read.
   * @throws FencedOutError if a later leader has entered. InvalidStateError without a holder outside the work of a term, and for a term of
   *   another election or shard than before
   */
  async enter(holder?: TokenHolder): Promise<void> {
    await this.run([], holder);
  }

  /**
   * Raises the fence, and carries out the commands in their order. Returns their replies.
   *
   * @param keys - the keys of the commands, for a Redis Cluster. All of them and the fence must be in one slot: `{balance}:fence`
   * @throws as {@link enter}, and then no command was carried out. InvalidOptionError for wrong keys, and for a wrong command, also one of
   *   over 7,000 words. Redis's error for a command that failed: those before it were carried out
   */
  async run(
    commands: readonly RedisCommand[],
    holder?: TokenHolder,
    keys: readonly string[] = [],
  ): Promise<unknown[]> {
    const token = this.#holders.tokenOf(holder);
    if (!Array.isArray(commands))
      throw new InvalidOptionError('commands', commands, "a list of commands: [['set', 'balance', '1']]");
    if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string'))
      throw new InvalidOptionError('keys', keys, "a list of keys: ['{balance}:value']");
    const words = commands.map(wordsOf).flatMap((each) => [String(each.length), ...each]);
    const digits = String(token).padStart(TOKEN_DIGITS, '0');
    const all = ['EVAL', SCRIPT, String(1 + keys.length), this.#key, ...keys, digits, ...words];
    const [, replies] = (await this.#send(all)) as [unknown, unknown[] | undefined];
    if (replies === undefined) throw new FencedOutError(this.#key, token);
    return replies;
  }
}

function senderOf(client: RedisClient): Send {
  if (typeof client === 'function') return client;
  const { call, sendCommand, options } = (client ?? {}) as {
    call?: unknown;
    sendCommand?: unknown;
    options?: { keyPrefix?: unknown };
  };
  if (options?.keyPrefix)
    throw new InvalidOptionError(
      'client.options.keyPrefix',
      options.keyPrefix,
      "none: give the fence client.duplicate({ keyPrefix: '' }), and write the prefix into the keys",
    );
  // A client of ioredis has a `sendCommand` as well, which takes an object of its own.
  if (typeof call === 'function') return ([name, ...rest]) => call.call(client, name, ...rest);
  if (typeof sendCommand === 'function') return (command) => sendCommand.call(client, command);
  throw new InvalidOptionError(
    'client',
    client,
    'a client of ioredis or redis, or a function that sends a command',
  );
}

function wordsOf(command: RedisCommand): Sent[] {
  const isRight = (word: unknown) =>
    Buffer.isBuffer(word) || ['string', 'number', 'bigint'].includes(typeof word);
  if (!Array.isArray(command) || typeof command[0] !== 'string' || !command.every(isRight))
    throw new InvalidOptionError(
      'commands',
      command,
      "a command with its arguments: ['set', 'balance', '1']",
    );
  if (command.length > MOST_WORDS)
    throw new InvalidOptionError(
      'commands',
      `${command[0]} with ${command.length} words`,
      `commands of at most ${MOST_WORDS} words`,
    );
  return command.map((word) => (Buffer.isBuffer(word) ? word : String(word)));
}

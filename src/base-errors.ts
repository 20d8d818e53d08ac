import { adviceOnCopies, isInstanceInAnyCopy, mark } from './public-class/instance-brand.js';
import { forJson } from './public-class/shown-in-console.js';
import { show } from './public-class/shown-in-messages.js';

// The errors that the light entry `conclave/held-term` throws, too. Import from `errors.ts` where that entry isn't concerned.

/**
 * The base of every error that Conclave creates. Tell them apart by class or by `code`, never by message. `instanceof` also
 * holds for errors of another copy of Conclave in the same process, if both copies have the class.
 *
 * Two kinds of value may reject a promise although they aren't such errors: the `reason` of a signal that the caller aborted,
 * and the value that the caller's own `lead` or clean-up hook threw (as a `cause`).
 */
export abstract class ConclaveError extends Error {
  /** A stable name in capitals, for logs and for code that can't compare classes. */
  abstract readonly code: string;
  /** Whether the same call may succeed later although you change nothing. It doesn't say whether repeating the call is safe. */
  readonly retryable: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** @internal The value that `JSON.stringify` shows. */
  toJSON(): object {
    return { message: this.message, ...forJson(this) };
  }

  /** @internal */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: of the class that is asked for, which inherits this
    return isInstanceInAnyCopy(this, value);
  }
}

/**
 * An option, path or connect string is wrong. Conclave throws it at once, before it sends anything.
 *
 * Errors are logged, so this one has no credentials in it. It neither shows nor keeps the value of an option that Conclave doesn't know, or
 * anything given as `auth`, `sasl` or `tls`. Of an object it has the names of the properties, and never their values.
 */
export class InvalidOptionError extends ConclaveError {
  readonly code = 'INVALID_OPTION';
  /** The given value. For an object, and for a value that may hold a secret, it is what the message says of it. */
  readonly value: unknown;

  /**
   * @param option - the option's name, as the caller would write it: `session.leaseMs`
   * @param value - the given value. The message shows it, so never pass a credential
   * @param expected - a right value in words, to follow "expected"
   */
  constructor(
    readonly option: string,
    value: unknown,
    readonly expected: string,
  ) {
    super(`${option} is ${show(value)}: expected ${expected}${adviceOnCopies(value)}`);
    this.value = typeof value === 'object' && value !== null ? show(value) : value;
  }
}

/** A method was called in a state in which it can't do its work: `start()` after `stop()`, for example. */
export class InvalidStateError extends ConclaveError {
  readonly code = 'INVALID_STATE';
}

/**
 * Why a term ended: `resigned` and `stopped` by a call of that name (closing the session counts as `stopped`),
 * `finished` because `lead` returned or threw, and the rest because leadership was lost.
 *
 * `superseded`: its lease was over, and another candidate took over, before this process looked at the clock. `record-overwritten`: a client
 * that is no candidate wrote the election's record. `refused`: the servers refuse the leader's heartbeats, because an access list was changed
 * for example; the cause is the refusal.
 *
 * At first a leader may only hear that its node is gone. Then its term ends at once, and the reason of its signal is
 * `node-deleted`. The event `demoted` waits until the leader knows the cause, for a round trip and at most a lease. It then says
 * `session-expired` or `superseded` if that was the cause.
 */
export type DemotionReason =
  | 'resigned'
  | 'stopped'
  | 'finished'
  | 'lease-expired'
  | 'session-expired'
  | 'node-deleted'
  | 'superseded'
  | 'record-overwritten'
  | 'refused'
  | 'revoked';

/** The term is over. Code that gets this error must no longer act for the term. It is also the reason of `term.signal`. */
export class TermEndedError extends ConclaveError {
  readonly code = 'TERM_ENDED';

  constructor(
    /** The term's number. */
    readonly term: number,
    /** Why it ended. */
    readonly reason: DemotionReason,
    options?: ErrorOptions,
  ) {
    super(`term ${term} is over: ${reason}`, options);
  }
}

/**
 * Why a member no longer owns a shard. Clean ends are `moved` (the plan gives the shard to another member), `stopped`, and `failed` (the
 * shard's work has failed too often in this member). The others are losses: the member didn't give the shard back.
 */
export type ShardEndReason =
  | 'moved'
  | 'stopped'
  | 'failed'
  | 'lease-expired'
  | 'session-expired'
  | 'node-deleted'
  | 'superseded'
  | 'refused';

/** This member no longer owns the shard. Code that gets this error must not act for the shard. It is also the reason of `shard.signal`. */
export class ShardEndedError extends ConclaveError {
  readonly code = 'SHARD_ENDED';

  constructor(
    /** The shard's id. */
    readonly shard: string,
    /** Why it ended. */
    readonly reason: ShardEndReason,
    options?: ErrorOptions,
  ) {
    super(`shard ${shard} is no longer owned: ${reason}`, options);
  }
}

for (const [name, type] of Object.entries({
  ConclaveError,
  InvalidOptionError,
  InvalidStateError,
  ShardEndedError,
  TermEndedError,
})) {
  mark(type, name);
}

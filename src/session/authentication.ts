import { AuthenticationError, ConnectionLossError, InvalidOptionError, NOT_SHOWN } from '../errors.js';
import type { Connection, Credentials } from './connection/connection.js';
import { NoAnswerInTimeError } from './connection/connection-end.js';
import { OwnFailure } from './connection/outage.js';
import { hostNameOf } from './connection/tcp-and-tls.js';
import { saslRequest } from './protocol/requests.js';
import type { SaslExchange, SaslMechanism } from './sasl/sasl-mechanism.js';

/** What a session shows to each server, before anything else. */
export interface ShownCredentials {
  readonly credentials: readonly Credentials[];
  readonly sasl: SaslMechanism | undefined;
}

type AuthenticatingConnection = Pick<Connection, 'server' | 'authenticate' | 'whileOpen' | 'send' | 'ping'>;

/** An exchange of any mechanism in use has at most five. */
const MOST_TOKENS = 10;
const HANGS = 'the mechanism of session.sasl gave no token in time: does it hang, or its KDC?';
/** For a mechanism of the user's own. */
const ADVICE = 'does it expect this mechanism of SASL, and this identity?';

/**
 * Shows the credentials to a server, and has it answer a ping: a server that demands others refuses that. Each request waits for the reply
 * to the one before, because a server answers SASL out of turn. A connection serves its session, or closes it, only after that.
 *
 * A session without credentials needs the ping, too. Otherwise a server that demands credentials would count as one that serves the
 * session until its first request, and be left and found again for ever.
 *
 * @returns the newest transaction that the server has
 * @throws AuthenticationError if the server refuses the credentials, or demands others; InvalidOptionError if the mechanism is wrong;
 *   OwnFailure if the mechanism has failed, or hangs; any other error if no answer came
 */
export async function authenticate(
  connection: AuthenticatingConnection,
  { credentials, sasl }: ShownCredentials,
): Promise<bigint> {
  for (const each of credentials) await connection.authenticate(each);
  if (sasl !== undefined) await exchangeTokens(connection, sasl);
  return (await connection.ping()).zxid;
}

async function exchangeTokens(connection: AuthenticatingConnection, mechanism: SaslMechanism): Promise<void> {
  const server = { host: hostNameOf(connection.server), port: connection.server.port };
  const exchange = checkExchange(await own(connection, () => mechanism.begin(server)));
  let received: Buffer | null | undefined;
  for (let sent = 0; ; sent++) {
    const given = received;
    const token = checkToken(await own(connection, () => exchange.step(given)));
    if (token === undefined) return;
    if (sent === MOST_TOKENS)
      throw new AuthenticationError(`the SASL exchange has not ended after ${MOST_TOKENS} tokens: refused`);
    try {
      received = (await connection.send(saslRequest(token))).value;
    } catch (error) {
      throw error instanceof AuthenticationError ? explained(error, exchange) : error;
    }
  }
}

/** @throws OwnFailure if the mechanism fails, or doesn't answer in time; otherwise as `task` and `whileOpen` do */
async function own<T>(connection: AuthenticatingConnection, task: () => T | Promise<T>): Promise<T> {
  try {
    return await connection.whileOpen(task);
  } catch (error) {
    if (error instanceof AuthenticationError || error instanceof InvalidOptionError) throw error;
    if (!(error instanceof ConnectionLossError)) throw new OwnFailure(error);
    if (!(error.cause instanceof NoAnswerInTimeError)) throw error;
    throw new OwnFailure(new Error(HANGS, { cause: error }));
  }
}

function explained(cause: AuthenticationError, { advice = ADVICE }: SaslExchange): AuthenticationError {
  return new AuthenticationError(`${cause.message}: ${advice}`, { cause });
}

function checkExchange(value: SaslExchange): SaslExchange {
  if (typeof (value as Partial<SaslExchange> | null | undefined)?.step === 'function') return value;
  throw new InvalidOptionError('session.sasl.begin()', NOT_SHOWN, 'an object with a function step');
}

function checkToken(value: Uint8Array | undefined): Uint8Array | undefined {
  if (value === undefined || value instanceof Uint8Array) return value;
  throw new InvalidOptionError('session.sasl.step()', NOT_SHOWN, 'a Uint8Array, or undefined at the end');
}

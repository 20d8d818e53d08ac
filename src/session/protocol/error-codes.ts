import {
  AuthenticationError,
  BadVersionError,
  NodeExistsError,
  NoNodeError,
  ZooKeeperError,
} from '../../errors.js';
import { type Access, entriesOf } from './acl.js';

// From ZooKeeper's KeeperException.Code. Another code is reported by its number.
const ERROR_NAMES: Readonly<Record<number, string>> = {
  [-1]: 'SYSTEM_ERROR',
  [-2]: 'RUNTIME_INCONSISTENCY',
  [-3]: 'DATA_INCONSISTENCY',
  [-4]: 'CONNECTION_LOSS',
  [-5]: 'MARSHALLING_ERROR',
  [-6]: 'UNIMPLEMENTED',
  [-7]: 'OPERATION_TIMEOUT',
  [-8]: 'BAD_ARGUMENTS',
  [-13]: 'NEW_CONFIG_NO_QUORUM',
  [-14]: 'RECONFIG_IN_PROGRESS',
  [-100]: 'API_ERROR',
  [-101]: 'NO_NODE',
  [-102]: 'NO_AUTH',
  [-103]: 'BAD_VERSION',
  [-108]: 'NO_CHILDREN_FOR_EPHEMERALS',
  [-110]: 'NODE_EXISTS',
  [-111]: 'NOT_EMPTY',
  [-112]: 'SESSION_EXPIRED',
  [-113]: 'INVALID_CALLBACK',
  [-114]: 'INVALID_ACL',
  [-115]: 'AUTH_FAILED',
  [-118]: 'SESSION_MOVED',
  [-119]: 'NOT_READ_ONLY',
  [-120]: 'EPHEMERAL_ON_LOCAL_SESSION',
  [-121]: 'NO_WATCHER',
  [-122]: 'REQUEST_TIMEOUT',
  [-123]: 'RECONFIG_DISABLED',
  [-124]: 'SESSION_CLOSED_REQUIRE_SASL_AUTH',
  [-125]: 'QUOTA_EXCEEDED',
  [-127]: 'THROTTLED_OP',
};

const NO_AUTH_CODE = -102;
const AUTH_FAILED_CODE = -115;
const AUTHENTICATION_REQUIRED_CODE = -124;
export const SESSION_EXPIRED_CODE = -112;
export const SESSION_MOVED_CODE = -118;

/** Whether a server refused for lack of a permission. It does so only if the node exists, or because of the node's parent. */
export function isNoAuth(error: unknown): boolean {
  return error instanceof ZooKeeperError && error.serverCode === NO_AUTH_CODE;
}

/**
 * Whether a server refused a request unseen, only because it had too many. It hasn't carried the request out, and the same request may
 * succeed a moment later.
 */
export function isThrottled(error: unknown): boolean {
  return error instanceof ZooKeeperError && error.retryable;
}

/** The error with which a server has refused. @throws any other error */
export function refusalOf(error: unknown): ZooKeeperError {
  if (error instanceof ZooKeeperError && !isThrottled(error)) return error;
  throw error;
}

/** The name of the request that has a token of SASL. */
export const SASL = 'sasl';

/**
 * The error if a server refuses the credentials of a connection, or every request because the connection hasn't authenticated as the
 * server demands; `undefined` for any other code. The server then ends the connection.
 */
export function authenticationError(code: number, operation: string): AuthenticationError | undefined {
  if (code !== AUTHENTICATION_REQUIRED_CODE && code !== AUTH_FAILED_CODE) return undefined;
  const name = `${ERROR_NAMES[code]}, ${code}`;
  // The mechanism knows what to advise.
  if (operation === SASL) return new AuthenticationError(`a server refused session.sasl (${name})`);
  const settings = 'enforce.auth.schemes or sessionRequireClientSASLAuth says how';
  return new AuthenticationError(
    `the servers require authentication (${name}): give session.sasl, or session.auth for the scheme digest; ` +
      `to a command --sasl or --auth (on the servers, ${settings})`,
  );
}

const INVALID_ACL_CODE = -114;

/** The error of a session with `sasl` if a server doesn't know the identity for which a node was to be; any other error as it is. */
export function explainedForSasl(error: unknown, access: Access): unknown {
  const isForCreator = entriesOf(access).some(({ scheme }) => scheme === 'auth');
  if (!(error instanceof ZooKeeperError && error.serverCode === INVALID_ACL_CODE && isForCreator))
    return error;
  const why = 'the servers know no identity of this session that the access list could name';
  return new AuthenticationError(`${error.message}: ${why}; is authProvider.sasl set on the servers?`, {
    cause: error,
  });
}

export function serverError(code: number, operation: string, path?: string): ZooKeeperError {
  const name = ERROR_NAMES[code] ?? 'UNKNOWN';
  switch (name) {
    case 'NO_NODE':
      return new NoNodeError(code, name, operation, path);
    case 'NODE_EXISTS':
      return new NodeExistsError(code, name, operation, path);
    case 'BAD_VERSION':
      return new BadVersionError(code, name, operation, path);
    default:
      return new ZooKeeperError(code, name, operation, path);
  }
}

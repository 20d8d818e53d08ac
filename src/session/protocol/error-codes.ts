import {
  AuthenticationError,
  BadVersionError,
  NodeExistsError,
  NoNodeError,
  ZooKeeperError,
} from '../../errors.js';

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

/**
 * The error if a server refuses every request of a connection, because it hasn't authenticated as the server demands; `undefined` for any
 * other code. The server then ends the connection.
 */
export function authenticationError(code: number, operation: string): AuthenticationError | undefined {
  if (code !== AUTHENTICATION_REQUIRED_CODE && code !== AUTH_FAILED_CODE) return undefined;
  const set =
    "give session.auth as { scheme: 'digest', credentials: 'user:password' }, or --auth to a command";
  const settings = 'enforce.auth.schemes or sessionRequireClientSASLAuth';
  return new AuthenticationError(
    `${operation}: the servers require clients to authenticate (${ERROR_NAMES[code]}, ${code}): ${set}. ` +
      `Conclave doesn't support SASL yet: if the servers accept nothing else (${settings}), it can't use them`,
  );
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

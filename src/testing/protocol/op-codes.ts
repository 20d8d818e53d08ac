/** ZooKeeper's codes, from `ZooDefs.OpCode`, `KeeperException.Code` and `Watcher.Event.EventType`. */
export const OP_CODE = {
  notification: 0,
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  getACL: 6,
  setACL: 7,
  getChildren: 8,
  sync: 9,
  ping: 11,
  getChildren2: 12,
  check: 13,
  multi: 14,
  create2: 15,
  reconfig: 16,
  removeWatches: 18,
  createContainer: 19,
  deleteContainer: 20,
  createTTL: 21,
  multiRead: 22,
  auth: 100,
  setWatches: 101,
  sasl: 102,
  whoAmI: 107,
  closeSession: -11,
  error: -1,
} as const;

/** The error codes that a server sends, by the names that ZooKeeper's clients give them. */
export const ERROR_CODES = {
  OK: 0,
  SYSTEM_ERROR: -1,
  RUNTIME_INCONSISTENCY: -2,
  DATA_INCONSISTENCY: -3,
  CONNECTION_LOSS: -4,
  MARSHALLING_ERROR: -5,
  UNIMPLEMENTED: -6,
  OPERATION_TIMEOUT: -7,
  BAD_ARGUMENTS: -8,
  API_ERROR: -100,
  NO_NODE: -101,
  NO_AUTH: -102,
  BAD_VERSION: -103,
  NO_CHILDREN_FOR_EPHEMERALS: -108,
  NODE_EXISTS: -110,
  NOT_EMPTY: -111,
  SESSION_EXPIRED: -112,
  INVALID_ACL: -114,
  AUTH_FAILED: -115,
  SESSION_MOVED: -118,
  NOT_READ_ONLY: -119,
  NO_WATCHER: -121,
  RECONFIG_DISABLED: -123,
  SESSION_CLOSED_REQUIRE_SASL_AUTH: -124,
  QUOTA_EXCEEDED: -125,
  THROTTLED_OP: -127,
} as const;

/** The name of an error that a server sends. */
export type ErrorName = keyof typeof ERROR_CODES;

export const EVENT = { created: 1, deleted: 2, changed: 3, children: 4 } as const;
/** What happened to a node, in an event. */
export type EventType = keyof typeof EVENT;

export const XID = { event: -1, ping: -2, auth: -4, setWatches: -8 } as const;

export const PERMISSION_BIT = { read: 1, write: 2, create: 4, delete: 8, admin: 16 } as const;

export const CREATE_FLAGS = {
  ephemeral: 1,
  sequential: 2,
  container: 4,
  timeToLive: 5,
  sequentialTimeToLive: 6,
} as const;

/** `jute.maxbuffer`: the longest packet that a server accepts. */
export const LONGEST_PACKET_BYTES = 0xfffff;
/** The `ephemeralOwner` by which ZooKeeper marks a container node. */
export const CONTAINER_OWNER = -(2n ** 63n);
export const NO_OWNER = 0n;
export const PASSWORD_BYTES = 16;

/**
 * Thrown when an operation can't be carried out; its code becomes the reply's error code.
 *
 * Not an `Error`: it is a normal answer, thousands of times a second, and needs no stack.
 */
export class ErrorReply {
  constructor(readonly code: number) {}
}

export function fail(name: ErrorName): never {
  throw new ErrorReply(ERROR_CODES[name]);
}

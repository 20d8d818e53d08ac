/** The numbers of ZooKeeper's protocol. */

/** The kinds of requests. */
export const OPERATION = /** @type {const} */ ({
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  getAcl: 6,
  setAcl: 7,
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
  createTtl: 21,
  multiRead: 22,
  auth: 100,
  setWatches: 101,
  sasl: 102,
  whoAmI: 107,
  closeSession: -11,
  error: -1,
});

/** @typedef {keyof typeof OPERATION} OperationName */

export const ERROR = /** @type {const} */ ({
  none: 0,
  runtimeInconsistency: -2,
  marshalling: -5,
  unimplemented: -6,
  badArguments: -8,
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  noChildrenForEphemerals: -108,
  nodeExists: -110,
  notEmpty: -111,
  sessionExpired: -112,
  invalidAcl: -114,
  authFailed: -115,
  sessionMoved: -118,
  noWatcher: -121,
  reconfigDisabled: -123,
  authenticationRequired: -124,
  quotaExceeded: -125,
});

/** Numbers that are used in place of a request's own. */
export const XID = /** @type {const} */ ({ event: -1, ping: -2, auth: -4, setWatches: -8 });

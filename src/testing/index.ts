export type { EmbeddedSession } from './controls/embedded-session.js';
export type { Fault, FaultTarget } from './controls/faults.js';
export type { Dialect } from './dialect.js';
export type { EmbeddedZooKeeperOptions, RestartOptions } from './embedded-options.js';
export { EmbeddedZooKeeper } from './embedded-zookeeper.js';
export type { ErrorName, EventType } from './op-codes.js';
export type { LoggedEvent, LoggedOperation, LoggedRequest } from './request-log.js';
export type { OperationName } from './requests.js';
export { TestClock } from './test-clock.js';
export {
  type EventSource,
  nextEvent,
  recordEvents,
  until,
  type WaitOptions,
} from './waiting.js';

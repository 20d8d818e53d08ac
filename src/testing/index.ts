export type { EmbeddedSession } from './controls/embedded-session.js';
export type { Fault, FaultTarget } from './controls/faults.js';
export { JobTester } from './controls/job-tester.js';
export { TestClock } from './controls/test-clock.js';
export type { LoggedEvent, LoggedRequest } from './controls/traffic-log.js';
export {
  type EventSource,
  nextEvent,
  recordEvents,
  until,
  type WaitOptions,
} from './controls/wait-for-events.js';
export { EmbeddedZooKeeper } from './embedded-zookeeper.js';
export type { ErrorName, EventType } from './protocol/op-codes.js';
export type { LoggedOperation, OperationName } from './protocol/requests.js';
export type { EmbeddedZooKeeperOptions, RestartOptions } from './server/embedded-options.js';
export type { Dialect } from './state/dialects.js';

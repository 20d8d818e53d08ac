export type { Clock, Timer, TimerOptions } from './clock.js';
export type { RetryOptions } from './cluster/backoff.js';
export type { CleanupDecision, CleanupHook, SessionLoss } from './cluster/cleanup.js';
export type { ClusterOptions } from './cluster/cluster-options.js';
export {
  type ClusterEvents,
  ClusterSupervisor,
  superviseCluster,
  type WorkerRestart,
  type WorkerStatus,
} from './cluster/cluster-supervisor.js';
export { entrust } from './cluster/guardian-link.js';
export type { Health } from './cluster/health.js';
export {
  type Burial,
  SessionGuardian,
  type SessionGuardianEvents,
  type SessionGuardianOptions,
} from './cluster/session-guardian.js';
export type { Shutdown, ShutdownOptions } from './cluster/shutdown.js';
export { ElectionSupervisor } from './cluster/supervisor.js';
export type { ElectionSupervisorEvents, Restart } from './cluster/supervisor-events.js';
export type { ElectionSupervisorOptions } from './cluster/supervisor-options.js';
export type { Standing } from './cluster/ward.js';
export type { WindingUp } from './cluster/winding-up.js';
export type { WorkerExit } from './cluster/worker-slot.js';
export type { Candidate } from './election/candidate.js';
export { LeaderElector } from './election/elector.js';
export type { LeaderElectorOptions, Revocation } from './election/elector-options.js';
export type { ElectorState, LeaderElectorEvents } from './election/elector-state.js';
export { ElectionObserver } from './election/observer.js';
export type { ElectionObserverOptions } from './election/observer-options.js';
export type { ElectionObserverEvents } from './election/observer-state.js';
export { type RevocationOptions, revokeLeader } from './election/revocation.js';
export type { SessionSource } from './election/session-source.js';
export type { Term } from './election/term.js';
export {
  AuthenticationError,
  BadVersionError,
  CleanupAttemptError,
  CleanupFailedError,
  ConclaveError,
  ConnectionLossError,
  ConnectTimeoutError,
  type DemotionReason,
  EnsembleResetError,
  type HoldEndReason,
  InvalidOptionError,
  InvalidStateError,
  LeadError,
  ListenerError,
  LockLostError,
  LockTimeoutError,
  NoCandidateError,
  NodeExistsError,
  NodeLostError,
  NoNodeError,
  NoServerError,
  OperationTimeoutError,
  RevocationRefusedError,
  SeatsMismatchError,
  SessionClosedError,
  SessionExpiredError,
  StopPendingError,
  type StopWait,
  TermEndedError,
  UnprotectedPathError,
  UnreadableNodeError,
  WorkerFailedError,
  WorkOverrunError,
  ZooKeeperError,
} from './errors.js';
export type { Place } from './lock/contender.js';
export { DistributedLock } from './lock/distributed-lock.js';
export type { GuardedTransaction } from './lock/guarded-transaction.js';
export type {
  AcquireOptions,
  Lock,
  LockOptions,
  QueuedContender as Contender,
  RevokeOptions,
} from './lock/lock.js';
export type { LockHold } from './lock/lock-hold.js';
export type { MultiHold } from './lock/multi-hold.js';
export { type Locks, MultiLock } from './lock/multi-lock.js';
export type { Purpose } from './lock/order.js';
export type { QueueLock } from './lock/queue-lock.js';
export { ReadWriteLock } from './lock/read-write-lock.js';
export { Semaphore } from './lock/semaphore.js';
export type { Logger } from './logger.js';
export type { Access, AccessEntry } from './session/access.js';
export type { Credentials, Reply } from './session/connection.js';
export type { Environment } from './session/environment.js';
export type { CreateOptions, ReadOptions } from './session/operations.js';
export type { Change } from './session/protocol.js';
export type { CreateMode, NodeData, PartResult, Stat, TransactionPart } from './session/records.js';
export {
  type CloseOptions,
  Session,
  type SessionEvents,
  type SessionState,
} from './session/session.js';
export type { SessionOptions } from './session/session-options.js';
export type { StartOptions } from './starting.js';
export type { StopOptions } from './stopping.js';

// Imports more than 20 modules: it is the public interface, and nothing else.

export * from './base-errors.js';
export type { SessionCleanup } from './cluster/dead-children/give-back-terms.js';
export type { ElectionRole } from './cluster/dead-children/guarded-process.js';
export { registerWithGuardian } from './cluster/dead-children/register-with-guardian.js';
export {
  type CleanupReport,
  SessionGuardian,
  type SessionGuardianEvents,
  type SessionGuardianOptions,
} from './cluster/dead-children/session-guardian.js';
export type { CleanupHook, SessionLoss } from './cluster/supervisor/cleanup-hook.js';
export { ElectionSupervisor } from './cluster/supervisor/election-supervisor.js';
export type { ElectionSupervisorEvents, Restart } from './cluster/supervisor/election-supervisor-events.js';
export type { ElectionSupervisorOptions } from './cluster/supervisor/election-supervisor-options.js';
export type { Health } from './cluster/supervisor/health.js';
export { type HealthSource, healthHandler } from './cluster/supervisor/health-handler.js';
export type { Shutdown, ShutdownOptions } from './cluster/supervisor/signal-shutdown.js';
export type { ClusterOptions } from './cluster/workers/cluster-options.js';
export {
  type ClusterEvents,
  ClusterSupervisor,
  superviseCluster,
  type WorkerRestart,
  type WorkerStatus,
} from './cluster/workers/cluster-supervisor.js';
export type { WorkerExit } from './cluster/workers/worker-slot.js';
export type { Candidate } from './election/candidates/candidate.js';
export type { LeaderElectorOptions, Revocation } from './election/elector-options.js';
export type { ElectorState, LeaderElectorEvents } from './election/elector-state.js';
export { LeaderElector } from './election/leader-elector.js';
export type {
  ElectionObserverEvents,
  ElectionObserverOptions,
} from './election/observer/election-observer.js';
export { ElectionObserver } from './election/observer/election-observer.js';
export { type RevocationOptions, revokeLeader } from './election/revoke-leader.js';
export type { Term } from './election/term/term.js';
export * from './error-classes.js';
export { currentTerm, withTerm } from './lease/current-term.js';
export type { GuardedTransaction } from './lease/guarded-transaction.js';
export type { HeldTerm } from './lease/held-term.js';
export { DistributedLock } from './lock/distributed-lock.js';
export type { LockHold } from './lock/lock-hold.js';
export type {
  AcquireOptions,
  Lock,
  LockOptions,
  QueuedContender as Contender,
  RevokeOptions,
} from './lock/lock-interface.js';
export type { MultiHold } from './lock/multi-lock/multi-hold.js';
export { MultiLock } from './lock/multi-lock/multi-lock.js';
export type { QueueLock } from './lock/queue-lock.js';
export { ReadWriteLock } from './lock/read-write-lock.js';
export { Semaphore } from './lock/semaphore.js';
export type { StartOptions } from './platform/async/start-with-signal.js';
export type { StopOptions } from './platform/async/stop-with-timeout.js';
export type { Environment } from './platform/injected-environment.js';
export type { Logger } from './platform/logging/logger.js';
export type { RetryOptions } from './platform/retry/backoff.js';
export type { Clock, LeaseInstant, Timer, TimerOptions } from './platform/time/clock.js';
export type { QueuePosition } from './queue/turn-wait.js';
export type { Credentials } from './session/connection/connection.js';
export type { Reply } from './session/connection/reply.js';
export type { CreateOptions, ReadOptions } from './session/operations.js';
export type { Access, AccessEntry } from './session/protocol/acl.js';
export type {
  CreateMode,
  NodeData,
  PartResult,
  Stat,
  TransactionPart,
} from './session/protocol/multi-and-stats.js';
export type { Change } from './session/protocol/requests.js';
export type { SaslExchange, SaslMechanism, SaslPassword } from './session/sasl/sasl-mechanism.js';
export { Session } from './session/session.js';
export type { CloseOptions, SessionOptions } from './session/session-options.js';
export type { SessionSource } from './session/session-source.js';
export type { SessionEvents, SessionState } from './session/session-state.js';
export type { ShardMember } from './shards/observer/group-view.js';
export type { ShardObserverEvents, ShardObserverOptions } from './shards/observer/shard-observer.js';
export { ShardObserver } from './shards/observer/shard-observer.js';
export type { Shard } from './shards/ownership/owned-shard.js';
export { type PlanInput, plan } from './shards/planner/balanced-plan.js';
export { shardOf } from './shards/shard-of-key.js';
export type { ComingShard } from './shards/supervisor/preparations.js';
export {
  type ShardHealth,
  type ShardShutdown,
  type ShardShutdownOptions,
  ShardSupervisor,
} from './shards/supervisor/shard-supervisor.js';
export type {
  ShardCleanupHook,
  ShardLoss,
  ShardSupervisorEvents,
} from './shards/supervisor/shard-supervisor-events.js';
export type { ShardSupervisorOptions } from './shards/supervisor/shard-supervisor-options.js';

import { DistributedLock } from '../../../src/lock/distributed-lock.js';
import type { Lock } from '../../../src/lock/lock-interface.js';
import { MultiLock } from '../../../src/lock/multi-lock/multi-lock.js';
import { ReadWriteLock } from '../../../src/lock/read-write-lock.js';
import { Semaphore } from '../../../src/lock/semaphore.js';
import type { Session } from '../../../src/session/session.js';

/** The methods that all locks have, including `MultiLock`. */
export type AnyLock = Pick<Lock, 'acquire' | 'tryAcquire' | 'using'>;

/** One kind of lock, as tests that go through all of them see it. */
export interface LockTestKind {
  readonly name: string;
  /** How many may hold it at once. */
  readonly holders: number;
  /** A lock at that path. A `MultiLock` has its queues below it. */
  make(session: Session, path: string): AnyLock;
  /** The paths of its queues. */
  queues(path: string): readonly string[];
}

const itself = (path: string) => [path];
const two = (path: string) => [`${path}/a`, `${path}/b`];

export const LOCK_KINDS: readonly LockTestKind[] = [
  {
    name: 'a lock',
    holders: 1,
    make: (session, path) => new DistributedLock(session, path),
    queues: itself,
  },
  {
    name: 'a write lock',
    holders: 1,
    make: (session, path) => new ReadWriteLock(session, path).writeLock,
    queues: itself,
  },
  {
    name: 'a read lock',
    holders: Number.POSITIVE_INFINITY,
    make: (session, path) => new ReadWriteLock(session, path).readLock,
    queues: itself,
  },
  {
    name: 'a semaphore of one seat',
    holders: 1,
    make: (session, path) => new Semaphore(session, path, 1),
    queues: itself,
  },
  {
    name: 'a semaphore of three seats',
    holders: 3,
    make: (session, path) => new Semaphore(session, path, 3),
    queues: itself,
  },
  {
    name: 'a lock of two',
    holders: 1,
    make: (session, path) => new MultiLock(two(path).map((each) => new DistributedLock(session, each))),
    queues: two,
  },
];

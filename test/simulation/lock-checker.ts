import type { GrantHold } from '../../src/lock/lock-hold.js';
import { ignore } from '../../src/platform/async/promises.js';
import {
  compareSequences,
  parseLockEntry,
  type QueueEntry,
  queueOf,
} from '../../src/queue/names-and-order.js';
import type { Candidate } from './candidates/candidate.js';
import type { Ledger } from './ledger.js';

/** How many may hold at once: with `readers` any number of contenders that only read, otherwise so many of any kind. */
export interface Capacity {
  readonly seats: number;
  readonly readers: boolean;
}

/** One process's hold by one node, as far as the process knows. */
interface Holding {
  readonly candidate: Candidate;
  readonly queue: string;
  readonly capacity: Capacity;
  readonly hold: GrantHold;
  /** Other readers don't block a reader, nor a writer that has become a reader. */
  isReading: boolean;
}

/** The newest state of any server of the ensemble. */
export interface CommittedTree {
  childrenOf(path: string): Iterable<string>;
  dataOf(path: string): Buffer | undefined;
}

const DOWNGRADED = '__READ__';

/**
 * Checks the promises of the locks.
 *
 * At the servers, under any fault: when a process is notified that it holds, no contender that blocks it is ahead,
 * so the tokens of holds that exclude each other rise.
 *
 * In time, by the clock on the wall: no more contenders hold at once than the lock allows. A lock has no takeover delay,
 * so it promises this only if the lease ends before the servers give the node away. It does if only processes and links
 * fail, and servers die. When a server stands still and goes on, or the servers are cut off from each other, or an
 * operator deletes the node, two may hold for a moment, and tokens decide: the checker counts such cases.
 */
export class LockChecker {
  readonly #ledger: Ledger;
  readonly #tree: CommittedTree;
  /** Whether leases may outlive their nodes now. */
  readonly #isExcused: () => boolean;
  #holdings: Holding[] = [];
  readonly #overlaps = new Set<string>();
  readonly #tampered = new Set<string>();
  /** Whether holds from before a loss of data may still be reported. */
  #isAfterLoss = false;
  /** The highest tokens of those that held alone, and of all. */
  readonly #tokens = new Map<string, { alone: bigint; any: bigint }>();

  constructor(ledger: Ledger, tree: CommittedTree, isExcused: () => boolean) {
    this.#ledger = ledger;
    this.#tree = tree;
    this.#isExcused = isExcused;
  }

  /** The ensemble has lost its data: tokens begin again. */
  beginAnew(): void {
    this.#tokens.clear();
    this.#isAfterLoss = true;
  }

  /** Whether that process holds any lock now, whether or not it runs. */
  isHeldBy(candidate: Candidate): boolean {
    return this.#holdings.some((each) => each.candidate === candidate && isCurrent(each));
  }

  /** An operator has deleted a node: its holder isn't notified at once. */
  tamperedWith(path: string): void {
    this.#tampered.add(path);
  }

  /**
   * A process has been notified that it holds.
   *
   * @param isReading - whether it holds beside other readers
   * @returns a function to call when it has become a reader
   */
  begun(
    candidate: Candidate,
    queue: string,
    capacity: Capacity,
    hold: GrantHold,
    isReading: boolean,
  ): () => void {
    if (hold.signal.aborted) return ignore; // It says by itself that it is over.
    const holding: Holding = { candidate, queue, capacity, hold, isReading };
    this.#ledger.count('locks held');
    this.#checkTurn(holding);
    this.#holdings = this.#holdings.filter(isCurrent);
    this.#holdings.push(holding);
    this.check();
    this.#checkToken(holding);
    return () => {
      holding.isReading = true;
      this.check();
    };
  }

  /** Call this also whenever a lease may have got longer. */
  check(): void {
    if (this.#holdings.some(isOver)) this.#holdings = this.#holdings.filter((each) => !isOver(each));
    if (this.#holdings.length < 2) return;
    const acting = this.#holdings.filter(isCurrent);
    for (const queue of new Set(acting.map((each) => each.queue)))
      this.#checkTogether(acting.filter((each) => each.queue === queue));
  }

  #checkTogether(together: readonly Holding[]): void {
    const byNode = new Map(together.map((each) => [each.hold.path, each]));
    const { seats, readers } = (together[0] as Holding).capacity;
    if (byNode.size <= seats) return;
    if (readers && together.every(({ isReading }) => isReading)) return;
    const nodes = [...byNode.keys()].sort();
    const names = nodes.map((node) => `${byNode.get(node)?.candidate.id} by ${node}`).join(' and ');
    if (this.#overlaps.has(names)) return;
    this.#overlaps.add(names);
    if (this.#isExcused()) this.#ledger.count('locks: held by too many while servers stood still');
    else if (nodes.some((node) => this.#tampered.has(node)))
      this.#ledger.count('locks: held by too many after an operator deleted a node');
    else this.#ledger.violate('lock held by too many', names);
  }

  /** At the servers no contender that blocks it may be ahead: once such a node is gone, it never comes back. */
  #checkTurn({ candidate, queue, capacity, hold, isReading }: Holding): void {
    const own = entryOf(hold) as QueueEntry;
    const ahead = queueOf([...this.#tree.childrenOf(queue)], parseLockEntry).filter(
      (entry) => compareSequences(entry.sequence, own.sequence) < 0,
    );
    const inTheWay = ahead.filter((entry) => !(isReading && this.#reads(queue, entry)));
    if (inTheWay.length < capacity.seats) return;
    this.#isAfterLoss &&= this.#isExcused();
    if (this.#isAfterLoss) return this.#ledger.count('locks: reported after a loss of data');
    const nodes = inTheWay.map(({ node }) => node).join(', ');
    this.#ledger.violate('lock out of turn', `${candidate.id} by ${hold.path}, behind ${nodes}`);
  }

  #reads(queue: string, { node, purpose }: QueueEntry): boolean {
    return purpose === 'read' || this.#tree.dataOf(`${queue}/${node}`)?.toString() === DOWNGRADED;
  }

  /**
   * The token of an exclusive hold is higher than all before it; that of a shared one is higher than those of all
   * exclusive holds before it.
   */
  #checkToken({ candidate, queue, capacity, hold, isReading }: Holding): void {
    if (capacity.seats > 1) return;
    const { token } = hold;
    const highest = this.#tokens.get(queue) ?? { alone: 0n, any: 0n };
    const least = isReading ? highest.alone : highest.any;
    if (token < least) {
      if (this.#isExcused() || this.#tampered.has(hold.path))
        this.#ledger.count('locks: a hold was reported late, after its end');
      else this.#ledger.violate('lock token', `${candidate.id} got ${token} after ${least}`);
    }
    this.#tokens.set(queue, {
      any: token > highest.any ? token : highest.any,
      alone: !isReading && token > highest.alone ? token : highest.alone,
    });
  }
}

function entryOf({ path }: GrantHold): QueueEntry | undefined {
  return parseLockEntry(path.slice(path.lastIndexOf('/') + 1));
}

/** Whether it never holds again. */
function isOver({ candidate, hold }: Holding): boolean {
  return candidate.isDead || hold.signal.aborted;
}

/** Whether its process may act, whether or not it runs: looked at from outside, without asking. */
function isCurrent(holding: Holding): boolean {
  const { candidate, hold } = holding;
  return !isOver(holding) && candidate.environment.clock.watched(() => hold.node.isHeld());
}

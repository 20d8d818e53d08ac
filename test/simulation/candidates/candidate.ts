import type { CandidacyOptions } from '../../../src/election/elector-options.js';
import { isLoss } from '../../../src/election/term/demotion.js';
import type { Term } from '../../../src/election/term/term.js';
import type { DemotionReason } from '../../../src/errors.js';
import type { OwnNode } from '../../../src/lease/own-node.js';
import { LeaseCell, SharedLease } from '../../../src/lease/shared-lease.js';
import type { TermHandle } from '../../../src/lease/term-handle.js';
import { ignore } from '../../../src/platform/async/promises.js';
import { type Clock, sleep } from '../../../src/platform/time/clock.js';
import type { MachineInstant } from '../../../src/platform/time/machine-instant.js';
import type { Session } from '../../../src/session/session.js';
import type { Random } from '../../support/seeded-random.js';
import type { CheckedObserver } from '../checked-observer.js';
import type { FencedResource, LeadershipChecker } from '../checker.js';
import type { CommittedLeaders } from '../committed-leaders.js';
import type { Ledger } from '../ledger.js';
import type { LockChecker } from '../lock-checker.js';
import type { Machine } from '../machine.js';
import type { Rules } from '../rules.js';
import type { Scheduler } from '../scheduler.js';
import type { SimulatedEnvironment } from './environment.js';
import { RepeatChecker } from './repeat-checker.js';

export const ELECTION = '/elections/scheduler';

/** The settings that all candidates of one world share. */
export interface Surroundings {
  readonly scheduler: Scheduler;
  readonly ledger: Ledger;
  readonly checker: LeadershipChecker;
  readonly resource: FencedResource;
  readonly lockResource: FencedResource;
  readonly lockChecker: LockChecker;
  /** The uses of locks that haven't ended. */
  readonly lockUses: Set<{ readonly candidate: Candidate }>;
  readonly rules: Rules;
  readonly sessionTimeoutMs: number;
  /** The sessions' option for the lease; `undefined` for the default. */
  readonly leaseMs: number | undefined;
  /** How often the ensemble has lost its data so far. */
  lifeAt(wallTime: number): number;
  /** The leaders, by the servers' committed data. */
  readonly committedLeaders: CommittedLeaders;
  /** How long an observer may show a former leader, at most. */
  readonly staleMs: number;
  /** Called when a thread has extended a lease. */
  readonly checkKept: (candidate: Candidate, sentAt: MachineInstant) => void;
  /** Whether supervised candidates observe the election too, with their supervisor's sessions. */
  readonly observes: boolean;
}

/** The options of one process that joins the election. */
export interface CandidateSetup {
  readonly id: string;
  readonly priority: number;
  /** The least time for which it waits for a silent leader; `undefined` if the lease alone decides. */
  readonly takeoverDelayMs: number | undefined;
  /** For how long its main thread may stand still; `undefined` if no thread holds its connections. */
  readonly maxStallMs: number | undefined;
  /** How long and how often it prepares; `undefined` if it doesn't. Worlds without that happen as if there were no such option. */
  readonly preparations: Random | undefined;
  readonly environment: SimulatedEnvironment;
  readonly random: Random;
  readonly surroundings: Surroundings;
}

/** How long leaders wait for a candidate that prepares. */
export const WAIT_FOR_PREPARED_MS = 5000;
const LONGEST_PREPARATION_MS = 20_000;

/** What a candidate has prepared: the signal of the place for which it was. */
export type Warm = AbortSignal | undefined;

/** The options by which it joins. */
export function joinOptions({ priority, takeoverDelayMs }: CandidateSetup) {
  return { priority, ...(takeoverDelayMs !== undefined && { takeoverDelayMs }) };
}

/** The times of its sessions. */
export function sessionTimes({ maxStallMs, surroundings: { sessionTimeoutMs, leaseMs } }: CandidateSetup) {
  return {
    sessionTimeoutMs,
    ...(leaseMs !== undefined && { leaseMs }),
    ...(maxStallMs !== undefined && { maxStallMs }),
  };
}

/** Leaders write a node and delete it in the same transaction, so that it isn't in the way of the next write. */
const NOTE = '/note';

interface Leadership {
  readonly term: Term;
  readonly node: OwnNode;
  /** Of the ensemble, in which the term was claimed. */
  readonly life: number;
  /** What other threads see of its lease, if a thread repeats its heartbeats. */
  readonly cell: LeaseCell | undefined;
}

/** One process that joins the election and does a leader's work, as an application would. */
export abstract class Candidate {
  readonly id: string;
  readonly environment: SimulatedEnvironment;
  protected readonly setup: CandidateSetup;
  protected readonly surroundings: Surroundings;
  protected readonly random: Random;
  #leadership: Leadership | undefined;
  /** For each kind of the application's work: since when it is under way, by the process's clock, and how long it took before. */
  #overrunningSince: number | undefined;
  #hookSince: number | undefined;
  #busyMs = 0;
  /** Whether another thread acts at this moment. */
  #isWorking = false;
  /** How many terms it has lost against its will. */
  losses = 0;

  constructor(setup: CandidateSetup) {
    this.setup = setup;
    this.id = setup.id;
    this.environment = setup.environment;
    this.random = setup.random;
    this.surroundings = setup.surroundings;
    const { checker, lockChecker, ledger } = this.surroundings;
    this.environment.onConfirmed = () => {
      checker.checkActing();
      lockChecker.check();
    };
    this.environment.onExtended = (sentAt) => {
      this.surroundings.checkKept(this, sentAt);
      checker.checkActing();
    };
    const { maxStallMs } = setup;
    if (maxStallMs !== undefined) {
      const { clock } = this.environment;
      this.environment.repeats = new RepeatChecker(
        { id: this.id, clock, maxStallMs },
        ledger,
        setup.surroundings.scheduler,
      );
    }
    this.environment.onTermTaken = (how) => ledger.count(how);
    this.environment.onUnwanted = () =>
      ledger.violate('lock not wanted', `${this.id} took a place after its acquire had been given up`);
  }

  abstract start(): void;
  /** Leaves the election, and keeps its session if it has one of its own. */
  abstract standDown(): Promise<void>;
  /** Ends everything. */
  abstract stop(): Promise<void>;
  abstract resign(): void;
  abstract handOver(to: string): void;
  /** The session that it has now, if any. */
  abstract session(): Promise<Session>;

  get isDead(): boolean {
    return this.environment.clock.isDead;
  }

  /** Whether it may wait, as a leader, for a candidate that prepares. */
  get waits(): boolean {
    return this.setup.preparations !== undefined;
  }

  /** Whether it follows a silent leader when its lease is over. */
  get followsByLease(): boolean {
    return this.setup.takeoverDelayMs === undefined;
  }

  /** Whether it leads and its lease lasts, whether or not it runs: looked at from outside, without being asked. */
  get isActing(): boolean {
    if (this.#leadership === undefined || this.isDead) return false;
    const { term, node, cell } = this.#leadership;
    const { clock } = this.environment;
    // A term that ended after a pause of this process has ended only then.
    const isOver = term.signal.aborted || cell?.reason !== undefined;
    const hasEnded = isOver && clock.sendsLaterByMs === 0;
    return this.#isWorking || (!hasEnded && clock.watched(() => node.isHeld()));
  }

  get maxStallMs(): number | undefined {
    return this.setup.maxStallMs;
  }

  /** The term that it leads, or that it has led and that hasn't been reported as ended. */
  get term(): Term | undefined {
    return this.#leadership?.term;
  }

  /** The life of the ensemble in which it leads. */
  get life(): number {
    return this.#leadership?.life ?? 0;
  }

  /** Whether its application keeps others from leading, by work that goes on after its term. */
  get isOverrunning(): boolean {
    return this.#overrunningSince !== undefined && !this.isDead;
  }

  /** For how long its application and its machine have kept it waiting so far, by its clock. */
  get busyMs(): number {
    const now = this.clock.now();
    const underWay = [this.#overrunningSince, this.#hookSince].map((since) => now - (since ?? now));
    return underWay.reduce((sum, each) => sum + each, this.#busyMs) + this.environment.clock.frozenMs;
  }

  /** Its observer, if it has one. */
  get observer(): CheckedObserver | undefined {
    return undefined;
  }

  /** Whether it has a place in the queue and only waits. */
  abstract get isWaiting(): boolean;

  /** Whether its application keeps it from leading. */
  abstract get isCleaning(): boolean;

  get leadershipName(): string {
    return `${this.id} in term ${this.#leadership?.term.number}`;
  }

  /** The path of its newest node in the election's queue. */
  get placePath(): string | undefined {
    return this.environment.nodes.get(ELECTION)?.path;
  }

  /** The path of the node that it leads by. */
  get leadingNode(): string | undefined {
    return this.#leadership?.node.path;
  }

  protected get clock(): Clock {
    return this.environment.clock;
  }

  protected expect<T>(what: string, promise: Promise<T>): Promise<T> {
    return this.surroundings.ledger.expect(`${this.id}: ${what}`, promise, () => this.isDead);
  }

  // ---- what the library reports ----

  protected elected(term: Term): void {
    const { ledger, checker, lifeAt } = this.surroundings;
    if (this.#leadership !== undefined)
      ledger.violate('demoted', `${this.id} was elected twice without being demoted`);
    const node = this.environment.nodes.get(ELECTION) as OwnNode;
    // The newest write that was committed while the node was there: the claim.
    const life = lifeAt(this.environment.provenAt.get(node) ?? 0);
    const handle = this.setup.maxStallMs === undefined ? undefined : term.handle();
    const cell = handle && cellOf(handle, this.environment.clock);
    this.#leadership = { term, node, life, cell };
    this.environment.repeats?.began(node.path);
    checker.elected(term, life);
    if (handle !== undefined) this.#workInThread(term, handle);
  }

  protected demoted(term: Term, reason: DemotionReason): void {
    const { ledger } = this.surroundings;
    if (this.#leadership?.term !== term)
      ledger.violate('demoted', `${this.id} was demoted from a term that it didn't lead`);
    if (!term.signal.aborted) ledger.violate('demoted', `${this.id} was demoted before its signal aborted`);
    ledger.count(`demoted: ${reason}`);
    if (isLoss(reason)) this.losses++;
    this.#leadership = undefined;
  }

  /** What hasn't ended, when everything should have. */
  get leftovers(): string[] {
    if (this.isDead) return [];
    const { clock, wires } = this.environment;
    const found: string[] = [];
    const timers = clock.timers - this.#heedless;
    if (timers > 0) found.push(`${timers} timers of ${this.id}`);
    if (clock.threads > 0) found.push(`${clock.threads} threads of ${this.id}`);
    if (wires.size > 0) found.push(`${wires.size} sockets of ${this.id}`);
    if (this.#leadership !== undefined) found.push(`${this.id} was elected and never demoted`);
    return found;
  }

  // ---- the leader's work ----

  /** How it prepares, and waits as a leader. Half of the candidates of such a world don't prepare, and half don't wait. */
  protected warmOptions(): Pick<CandidacyOptions<Warm>, 'lead' | 'prepare' | 'waitForPreparedMs'> {
    const { preparations } = this.setup;
    const lead = (term: Term, warm: Warm) => this.lead(term, warm);
    if (preparations === undefined) return { lead };
    const waits = preparations.chance(0.5);
    return {
      lead,
      ...(waits && { waitForPreparedMs: WAIT_FOR_PREPARED_MS }),
      ...(preparations.chance(0.5) && { prepare: ({ signal }) => this.#prepare(preparations, signal) }),
    };
  }

  #hasFailed = false;
  #openPlace: AbortSignal | undefined;
  /** Preparations under way that don't end with their signal. Nothing waits for them, so their timers aren't left over by Conclave. */
  #heedless = 0;

  /** It fails now and then, but not twice in a row, nor when it has begun in a term: that would end the term. */
  async #prepare(preparations: Random, signal: AbortSignal): Promise<Warm> {
    const { ledger } = this.surroundings;
    if (this.#openPlace?.aborted === false && this.#openPlace !== signal)
      ledger.violate('prepare', `${this.id} prepares, and the signal of its former place has not aborted`);
    this.#openPlace = signal;
    const fails = !this.#hasFailed && this.#leadership === undefined && preparations.chance(0.2);
    this.#hasFailed = fails;
    const ms = preparations.spread(1, LONGEST_PREPARATION_MS);
    if (preparations.chance(0.8)) await this.#pause(ms, signal);
    else {
      this.#heedless++;
      await this.#pause(ms);
      this.#heedless--;
    }
    if (fails) throw new Error('not everything could be loaded');
    ledger.count(signal.aborted ? 'preparations for a place that was lost' : 'preparations');
    return signal;
  }

  /** The work of a term, to its end. */
  protected async lead(term: Term, warm: Warm): Promise<void> {
    const node = this.#leadership?.node;
    if (warm?.aborted) this.surroundings.ledger.violate('prepare', `${this.id} leads with what is closed`);
    await this.#work(term);
    if (warm?.aborted) this.surroundings.ledger.violate('prepare', `${this.id} worked with what is closed`);
    if (node?.isHeld() === false) this.overran();
  }

  /** The lease was over, or the node was gone, when the work settled. */
  protected overran(): void {
    // Only a supervisor cleans up after that.
  }

  /** Acts now and then, each time after it has asked. It ends some time after it has to. */
  async #work(term: Term): Promise<void> {
    const { random } = this;
    const { sessionTimeoutMs } = this.surroundings;
    const endsAt = this.clock.now() + (random.chance(0.1) ? random.spread(100, 60_000) : Infinity);
    while (this.clock.now() < endsAt && this.#asks(term)) {
      this.#act(term);
      if (random.chance(0.3)) this.write();
      await this.#pause(sessionTimeoutMs * random.between(0.2, 0.8), term.signal);
    }
    if (!random.chance(0.2)) return;
    const since = this.clock.now();
    this.#overrunningSince = since;
    await this.#pause(random.spread(1, 2 * sessionTimeoutMs));
    this.#overrunningSince = undefined;
    this.#busyMs += this.clock.now() - since;
  }

  /** Asks the term, and checks that `isHeld()` agrees with the lease that the checker uses. */
  #asks(term: Term): boolean {
    const { isActing } = this;
    const isHeld = term.isHeld();
    if (isHeld && this.#toldFalse === term)
      this.surroundings.ledger.violate(
        'lease',
        `${this.leadershipName} is told true, and a thread of it was told false`,
      );
    // The lease may have ended while the process stood still within the question.
    if (isHeld !== isActing && (isHeld || !this.environment.clock.isFrozen))
      this.surroundings.ledger.violate(
        'lease',
        `${this.leadershipName} is told ${isHeld}, and shows ${isActing}`,
      );
    return isHeld;
  }

  /** The term that wasn't held when a thread asked. */
  #toldFalse: Term | undefined;

  /** The application's thread that computed for the newest term. */
  #worker: Machine | undefined;

  /** The application ends the thread that may still compute, because it hasn't asked since the term ended. */
  endWorker(): void {
    this.#worker?.kill();
  }

  /** A thread that computes for the term. It acts now and then, each time after it has asked the cell, until the term isn't held. */
  #workInThread(term: Term, handle: TermHandle): void {
    const thread = this.environment.clock.newThread('work');
    this.#worker = thread;
    const cell = cellOf(handle, thread);
    const { ledger, scheduler, resource, checker, leaseMs, sessionTimeoutMs } = this.surroundings;
    // A process that stops is looked at two seconds later. By then its thread has asked.
    const everyMs = Math.min(leaseMs ?? sessionTimeoutMs / 3, 1500);
    const actOrEnd = () => {
      const { isActing } = this;
      if (!cell.isHeld()) {
        this.#toldFalse = term;
        return thread.kill();
      }
      if (!isActing)
        ledger.violate('lease', `a thread of ${this.leadershipName} is told true, and its lease is over`);
      if (this.#toldFalse === term)
        ledger.violate('lease', `a thread of ${this.leadershipName} is told true after false`);
      ledger.count(
        `acts of threads, ${this.environment.clock.isFrozen ? 'in a stall' : 'with the main thread'}`,
      );
      this.#isWorking = true;
      checker.checkActing();
      this.#isWorking = false;
      scheduler.after(thread.sendsLaterByMs + this.random.between(0, 20), () => resource.write(term.token));
      thread.after(everyMs * this.random.between(0.05, 0.6), actOrEnd);
    };
    thread.after(everyMs * this.random.between(0.05, 0.6), actOrEnd);
  }

  /** Writes in ZooKeeper, guarded by its term if it leads. */
  write(): void {
    const term = this.#leadership?.term;
    if (term === undefined) return;
    const { ledger } = this.surroundings;
    const count = (what: string) => () => ledger.count(`guarded transactions: ${what}`);
    const written = term.transaction().create(NOTE, this.id).remove(NOTE).commit();
    written.then(count('carried out'), count('refused, or not answered'));
  }

  /** Its writes may be slow on their way. */
  #act(term: Term): void {
    const { scheduler, resource, checker } = this.surroundings;
    checker.checkActing();
    const { token } = term;
    const delayMs = this.random.chance(0.05) ? this.random.spread(100, 30_000) : this.random.between(0, 20);
    scheduler.after(this.environment.clock.sendsLaterByMs + delayMs, () => resource.write(token));
  }

  async #pause(ms: number, signal?: AbortSignal): Promise<void> {
    await sleep(this.clock, ms, signal).catch(ignore); // The signal shows it to the caller.
  }

  /** The application's clean-up, which takes a while and fails now and then. */
  protected async cleanUp(): Promise<void> {
    this.surroundings.ledger.count('calls of the hook');
    const since = this.clock.now();
    this.#hookSince = since;
    if (this.random.chance(0.5)) await this.#pause(this.random.spread(1, 3000));
    this.#hookSince = undefined;
    this.#busyMs += this.clock.now() - since;
    if (this.random.chance(0.15)) throw new Error('the state is still in use');
  }
}

function cellOf({ lease, end }: TermHandle, { sources }: Pick<Machine, 'sources'>): LeaseCell {
  return new LeaseCell(new SharedLease(lease, sources), end);
}

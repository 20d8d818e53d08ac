import { onAbort } from '../../../src/platform/async/lazy-abort-controller.js';
import { deferred, ignore } from '../../../src/platform/async/promises.js';
import { sleep } from '../../../src/platform/time/clock.js';
import { Session } from '../../../src/session/session.js';
import { GroupMember, type GroupMemberListener } from '../../../src/shards/group-member.js';
import type { OwnedShard } from '../../../src/shards/ownership/owned-shard.js';
import { changePins } from '../../../src/shards/pinned-shards.js';
import { PREPARED_WAIT_MS } from '../../../src/shards/planner/handover-waits.js';
import { resizeGroup } from '../../../src/shards/read-and-resize-group.js';
import { GroupPaths } from '../../../src/shards/stored/group-paths.js';
import type { ShardList } from '../../../src/shards/stored/shard-list.js';
import type { Random } from '../../support/seeded-random.js';
import { CONNECT, SILENT, type SimulatedEnvironment } from '../candidates/environment.js';
import type { Ledger } from '../ledger.js';
import type { ShardChecker } from './checker.js';

/** The group of every world. */
export const GROUP = '/group';
/** The node that the owners of a shard write, under their fence. */
export const noteOf = (shard: string) => `/note-${shard}`;

/** The settings that the processes of one world share. */
export interface GroupSurroundings {
  /** Which shards each member is started with. An operator changes that later. */
  readonly list: ShardList;
  /** All shards that the group may ever have. */
  readonly all: ShardList;
  readonly ledger: Ledger;
  readonly checker: ShardChecker;
  later(ms: number, task: () => void): void;
  readonly times: { readonly sessionTimeoutMs: number; readonly leaseMs?: number };
}

/** How a process takes part. */
export interface MemberHabits {
  /** Its name as a member. */
  readonly member: string;
  /** Whether the same name comes again, and how long its shards wait for it. */
  readonly keepsHome: boolean;
  readonly graceMs: number;
  /** Whether it prepares for shards that others own. */
  readonly prepares: boolean;
}

/** One process that is a member, as an application would be: over the end of its node, and of its sessions, until it is stopped. */
export class MemberProcess {
  readonly id: string;
  readonly environment: SimulatedEnvironment;
  readonly #habits: MemberHabits;
  readonly #random: Random;
  readonly #surroundings: GroupSurroundings;
  readonly #stop = new AbortController();
  readonly #shards = new Map<string, OwnedShard>();
  #overrunning = 0;
  /** Whether it is about to be stopped. */
  #isDraining = false;
  #session: Session | undefined;
  #member: GroupMember | undefined;
  /** The shards that others still own and that it should own. */
  #awaited: readonly string[] = [];
  #ready: string[] = [];
  #running: Promise<void> = Promise.resolve();

  constructor(
    id: string,
    habits: MemberHabits,
    environment: SimulatedEnvironment,
    random: Random,
    surroundings: GroupSurroundings,
  ) {
    this.id = id;
    this.#habits = habits;
    this.environment = environment;
    this.#random = random;
    this.#surroundings = surroundings;
    environment.onConfirmed = () => surroundings.checker.checkActing();
  }

  get isDead(): boolean {
    return this.environment.clock.isDead;
  }

  /** Its name as a member. */
  get member(): string {
    return this.#habits.member;
  }

  /** Whether it acts for that shard, whether or not it runs: looked at from outside, without being asked. */
  actsFor(shard: string): boolean {
    const owned = this.#shards.get(shard);
    return !this.isDead && this.environment.clock.watched(() => owned?.seemsHeld === true);
  }

  /** Calls `each` with the shards for which it acts. */
  forEachActing(each: (shard: string) => void): void {
    if (this.isDead || this.#shards.size === 0) return;
    this.environment.clock.watched(() => {
      for (const [shard, owned] of this.#shards) if (owned.seemsHeld) each(shard);
    });
  }

  /** Whether its work for a shard goes on though it has to give the shard back. */
  get isOverrunning(): boolean {
    return this.#overrunning > 0 && !this.isDead;
  }

  /** Whether it has a place in the group now. */
  get isMember(): boolean {
    return !this.isDead && this.#member !== undefined && !this.#member.lost.aborted;
  }

  get isStopping(): boolean {
    return this.#stop.signal.aborted || this.#isDraining;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Refuses one of its shards, if it has any, for a while. */
  refuse(): void {
    const shards = [...this.#shards.keys()];
    if (shards.length === 0 || this.#member === undefined) return;
    this.#surroundings.ledger.count('refusals');
    this.#member.refuse([this.#random.pick(shards)]);
  }

  /** It may own each shard again. */
  acceptAll(): void {
    this.#member?.refuse([]);
  }

  /** An operator pins a shard to a member or, with `undefined`, removes a pin, if there is any. */
  pin(shard: string, member: string | undefined): void {
    const change = (before: Map<string, string>) => {
      if (member === undefined) before.delete(before.has(shard) ? shard : ([...before.keys()][0] ?? shard));
      else before.set(shard, member);
      return before;
    };
    this.#operate(member === undefined ? 'unpin' : 'pin', (session, paths) =>
      changePins(session, paths, change),
    );
  }

  /** An operator gives the group another number of shards. */
  resize(count: number): void {
    this.#operate('resize', (session, paths) => resizeGroup(session, paths, count));
  }

  /** An operator acts with the process's session. The action may fail. */
  #operate(what: string, act: (session: Session, paths: GroupPaths) => Promise<unknown>): void {
    const { ledger } = this.#surroundings;
    if (this.#session === undefined || this.#session.ended.aborted) return;
    const count = (outcome: string) => () => ledger.count(`${what}: ${outcome}`);
    this.#expect(what, act(this.#session, new GroupPaths(GROUP))).then(count('done'), count('failed'));
  }

  /** It asks the planner to give its shards to others. It has to be stopped after that. */
  drain(): void {
    this.#surroundings.ledger.count('drains');
    this.#isDraining = true;
    this.#member?.report({ draining: true });
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('stopped'));
    await this.#expect('stop', this.#running);
  }

  #expect<T>(what: string, promise: Promise<T>): Promise<T> {
    return this.#surroundings.ledger.expect(`${this.id}: ${what}`, promise, () => this.isDead);
  }

  async #run(): Promise<void> {
    const { ledger, times, all } = this.#surroundings;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let session: Session | undefined;
      try {
        session = await Session.connect(CONNECT, {
          ...times,
          environment: this.environment,
          logger: SILENT,
          signal,
        });
        this.#session = session;
        for (const shard of all.ids) await session.ensurePath(noteOf(shard));
        while (!signal.aborted && !session.ended.aborted) await this.#belong(session);
      } catch (error) {
        if (!signal.aborted) ledger.count(`could not join: ${(error as Error).name}`);
      }
      if (session !== undefined) await this.#expect('close', session.close());
      if (!signal.aborted)
        await sleep(this.environment.clock, this.#random.between(10, 1000), signal).catch(ignore);
    }
  }

  /** Runs until its node is lost, its session has ended, or it is stopped. */
  async #belong(session: Session): Promise<void> {
    const { list, ledger } = this.#surroundings;
    const { signal } = this.#stop;
    const { member: id, keepsHome, graceMs, prepares } = this.#habits;
    const options = {
      ...{ id, weight: 1, shards: list, keepsHome, graceMs },
      ...(prepares && { prepares }),
    };
    const listener: GroupMemberListener = {
      onAcquired: (shard) => this.#acquired(shard),
      onEnded: (shard) => {
        ledger.count(`ended: ${shard.endedFor}`);
        if (this.#shards.get(shard.id) === shard) this.#shards.delete(shard.id);
      },
      onWorkFailed: (_, cause) => ledger.violate('work', String(cause)),
      onOverrun: () => ledger.count('overruns'),
      onAwaited: (shards) => this.#prepare(shards.map(({ id: shard }) => shard)),
      onError: (error) => ledger.count(`reported: ${(error as Error).name}`),
      onPlanned: () => ledger.count('plans'),
    };
    const member = await GroupMember.join(session, GROUP, options, listener, signal);
    this.#member = member;
    ledger.count('members');
    const over = deferred();
    const unsubscribe = [member.lost, session.ended, signal].map((each) => onAbort(each, over.resolve));
    if (!member.lost.aborted && !session.ended.aborted && !signal.aborted) await over.promise;
    for (const each of unsubscribe) each();
    this.#member = undefined;
    await this.#expect('leave', member.leave());
  }

  /** Says sooner or later, or never, that it is ready. */
  #prepare(awaited: readonly string[]): void {
    this.#awaited = awaited;
    this.#ready = this.#ready.filter((shard) => awaited.includes(shard));
    if (!this.#habits.prepares || this.#random.chance(0.2)) return;
    void sleep(this.environment.clock, this.#random.spread(1, 2 * PREPARED_WAIT_MS), this.#stop.signal)
      .then(() => {
        this.#ready = [...this.#awaited];
        this.#member?.report({ ready: this.#ready });
      })
      .catch(ignore);
  }

  #acquired(shard: OwnedShard): void {
    const { checker } = this.#surroundings;
    if (this.#shards.has(shard.id))
      this.#surroundings.ledger.violate('twice', `${this.id} owns ${shard.id} twice`);
    this.#shards.set(shard.id, shard);
    shard.work(() => this.#work(shard));
    checker.acquired(shard, this.id);
  }

  /** Acts now and then, each time after it has asked. It ends some time after it has to. */
  async #work(shard: OwnedShard): Promise<void> {
    const { times, checker, ledger } = this.#surroundings;
    const pause = (ms: number, signal?: AbortSignal) =>
      sleep(this.environment.clock, ms, signal).catch(ignore);
    while (shard.isHeld()) {
      checker.checkActing();
      if (this.#random.chance(0.3)) this.#write(shard);
      await pause(times.sessionTimeoutMs * this.#random.between(0.2, 0.8), shard.signal);
    }
    // An application that goes on with what it should have ended.
    if (this.#random.chance(0.3))
      this.#surroundings.later(this.#random.spread(10, 60_000), () =>
        this.environment.clock.receive(() => this.#write(shard)),
      );
    if (!this.#random.chance(0.2)) return;
    ledger.count('work that outlasts its shard');
    this.#overrunning++;
    if (this.#random.chance(0.5)) this.#write(shard);
    await pause(this.#random.spread(1, 2 * times.sessionTimeoutMs));
    if (this.#random.chance(0.5)) this.#write(shard);
    this.#overrunning--;
  }

  /** The note names the node by which it was written. */
  #write(shard: OwnedShard): void {
    const { ledger } = this.#surroundings;
    const note = noteOf(shard.id);
    const count = (what: string) => () => ledger.count(`guarded transactions: ${what}`);
    const written = shard.transaction().setData(note, shard.claim.node).commit();
    written.then(count('carried out'), count('refused, or not answered'));
  }

  /** What hasn't ended, when everything should have. */
  get leftovers(): string[] {
    if (this.isDead) return [];
    const { clock, wires } = this.environment;
    const found: string[] = [];
    if (clock.timers > 0) found.push(`${clock.timers} timers of ${this.id}`);
    if (wires.size > 0) found.push(`${wires.size} sockets of ${this.id}`);
    if (this.#shards.size > 0) found.push(`${this.id} owns ${this.#shards.size} shards`);
    return found;
  }
}

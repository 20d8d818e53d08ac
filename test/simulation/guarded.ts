import { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { GuardianLink, type ParentChannel } from '../../src/cluster/dead-children/register-with-guardian.js';
import { SessionGuardian } from '../../src/cluster/dead-children/session-guardian.js';
import type { Random } from '../support/seeded-random.js';
import { CONNECT, SILENT, SimulatedEnvironment } from './candidates/environment.js';
import type { Ledger } from './ledger.js';
import type { Machine } from './machine.js';
import { Pipe, Route } from './network.js';
import type { Scheduler } from './scheduler.js';

const NOT_LEADING = 'guardian: sessions cleaned up, not leading';
const CLEANLY = 'guardian: sessions cleaned up, cleanly';
/** Their leaders had been replaced, or their sessions had ended. */
export const LATE_GUARDIANS = 'guardian: sessions cleaned up, late';

/** The part of a child's process that its parent sees, and the part of the channel to its parent that the child sees. */
class Family {
  readonly child: ChildProcess;
  readonly route: Route;
  readonly #parent: Machine;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #up: Pipe;
  /** The child's end, and the parent's. */
  readonly #ends: { readonly above: EventEmitter & { connected: boolean }; readonly below: Channel };

  constructor(parent: Machine, environment: SimulatedEnvironment, scheduler: Scheduler, random: Random) {
    this.#parent = parent;
    this.#scheduler = scheduler;
    this.#random = random;
    this.route = new Route(scheduler, random);
    const down = new Pipe(this.route.there);
    this.#up = new Pipe(this.route.back);
    const below = new Channel((message) => {
      this.#up.send(
        () => parent.receive(() => above.emit('message', message)),
        environment.clock.sendsLaterByMs,
      );
    });
    // One of Node's own kind, which is what a guardian takes; it was never started.
    const above = Object.assign(Object.create(ChildProcess.prototype) as EventEmitter, {
      pid: process.pid, // Its messages carry this pid.
      connected: true,
      channel: {},
      exitCode: null,
      signalCode: null,
      send: (message: object) => {
        const copy = copyOf(message);
        down.send(() => environment.clock.receive(() => below.emit('message', copy)), parent.sendsLaterByMs);
        return true;
      },
    });
    this.child = above as unknown as ChildProcess;
    this.#ends = { above, below };
    environment.link = new GuardianLink(below);
  }

  /**
   * The child's process has ended. Its last messages arrive, or are lost if it was killed; and the `exit` event may
   * overtake them.
   */
  ended(wasKilled: boolean): void {
    const random = this.#random;
    const { above } = this.#ends;
    if (wasKilled && random.chance(0.5)) this.#up.isSevered = true;
    const closedAt = Math.max(this.#up.lastAt, this.#scheduler.now) + 0.1;
    const toldMs = random.chance(0.2) ? random.between(0, 300) : random.between(0, 5);
    this.#scheduler.after(toldMs, () =>
      this.#parent.receive(() => {
        Object.assign(above, { exitCode: wasKilled ? null : 0, signalCode: wasKilled ? 'SIGKILL' : null });
        above.emit('exit');
      }),
    );
    this.#scheduler.at(closedAt, () =>
      this.#parent.receive(() => {
        above.connected = false;
        above.emit('disconnect');
      }),
    );
  }

  /** The parent's process has ended. */
  orphaned(): void {
    this.#ends.below.connected = false;
  }
}

/** A child's end of the channel to its parent. */
class Channel extends EventEmitter implements ParentChannel {
  connected = true;
  readonly #say: (message: unknown) => void;

  constructor(say: (message: unknown) => void) {
    super();
    this.#say = say;
  }

  send(message: object): boolean {
    this.#say(copyOf(message));
    return true;
  }
}

/** The message as it arrives at another process. */
function copyOf(message: object): unknown {
  return JSON.parse(JSON.stringify(message));
}

/** The parent of one candidate's process, on the same machine, with a `SessionGuardian`. */
export class Parent {
  readonly environment: SimulatedEnvironment;
  readonly #guardian: SessionGuardian;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #ledger: Ledger;
  #family: Family | undefined;

  constructor(environment: SimulatedEnvironment, scheduler: Scheduler, random: Random, ledger: Ledger) {
    this.environment = environment;
    this.#scheduler = scheduler;
    this.#random = random;
    this.#ledger = ledger;
    this.#guardian = new SessionGuardian({ connect: CONNECT, session: { environment }, logger: SILENT });
    this.#guardian
      .on('cleanedUp', ({ sessions, tookMs }) => {
        for (const { terms, clean } of sessions)
          ledger.count(terms === 0 ? NOT_LEADING : clean ? CLEANLY : LATE_GUARDIANS);
        ledger.time('a guardian took to clean up', tookMs);
      })
      .on('error', () => ledger.count('guardian: sessions left to their timeout'));
  }

  get isDead(): boolean {
    return this.environment.clock.isDead;
  }

  /** Forks a child: the process with that environment, which is guarded from now on. */
  fork(environment: SimulatedEnvironment): void {
    const { clock } = this.environment;
    const family = new Family(clock, environment, this.#scheduler, this.#random);
    this.#family = family;
    clock.receive(() => this.#guardian.watch(family.child));
  }

  /** Whether it knows that its child leads. */
  get knowsOfLeader(): boolean {
    return (
      !this.isDead && this.#family !== undefined && this.#guardian.roleOf(this.#family.child) === 'leading'
    );
  }

  /** The way between it and its child. */
  get route(): Route | undefined {
    return this.#family?.route;
  }

  childEnded(wasKilled: boolean): void {
    if (!this.isDead) this.#family?.ended(wasKilled);
    this.#family = undefined;
  }

  /** @param isMachineGone - whether its connections stay open, so that no peer is notified */
  die(isMachineGone: boolean): void {
    for (const wire of this.environment.wires) {
      if (isMachineGone) wire.sever();
      else wire.closeAtClient();
    }
    this.environment.clock.kill();
    this.#family?.orphaned();
  }

  async close(): Promise<void> {
    await this.#ledger.expect("a guardian's close", this.#guardian.close(), () => this.isDead);
  }

  get leftovers(): string[] {
    const { clock, wires } = this.environment;
    const found: string[] = [];
    if (clock.timers > 0) found.push(`${clock.timers} timers of a guardian`);
    if (wires.size > 0) found.push(`${wires.size} sockets of a guardian`);
    return this.isDead ? [] : found;
  }
}

// A child finds its parent by its own process; here by the environment of the session that it registers.
const { register } = GuardianLink.prototype;
GuardianLink.prototype.register = function (session, elector) {
  const { environment } = session;
  if (!(environment instanceof SimulatedEnvironment)) return register.call(this, session, elector);
  if (environment.link !== undefined) register.call(environment.link, session, elector);
};

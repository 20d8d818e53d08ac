import type { Random } from '../support/seeded-random.js';
import type { Scheduler } from './scheduler.js';

interface Held {
  readonly pipe: Pipe;
  readonly sentAt: number;
  readonly arrive: () => void;
}

// A packet is lost now and then, and sent again after a while.
const LOSS = 0.002;
const FASTEST_MS = 0.1;
const USUAL_MS = 1.5;
const LONGEST_RETRANSMISSION_MS = 3000;

/**
 * The way from one place to another, in one direction. While it is cut, packets stay under way: TCP sends them again
 * and again, so they arrive some time after the way works again.
 */
export class Link {
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #held: Held[] = [];
  #cutAt: number | undefined;
  /** How much longer each packet takes than usual, in milliseconds. */
  slowBy = 0;
  /** Whether packets are lost now and then. */
  losesPackets = true;

  constructor(scheduler: Scheduler, random: Random) {
    this.#scheduler = scheduler;
    this.#random = random;
  }

  get isCut(): boolean {
    return this.#cutAt !== undefined;
  }

  cut(): void {
    this.#cutAt ??= this.#scheduler.now;
  }

  /** @param withinMs - held-back packets arrive within this time */
  heal(withinMs = LONGEST_RETRANSMISSION_MS): void {
    if (this.#cutAt === undefined) return;
    const longestMs = Math.min(this.#scheduler.now - this.#cutAt, withinMs);
    this.#cutAt = undefined;
    const held = this.#held;
    this.#held = [];
    for (const { pipe, sentAt, arrive } of held)
      this.#carry(
        pipe,
        Math.max(0, sentAt - this.#scheduler.now) + this.#random.between(0, longestMs),
        arrive,
      );
  }

  send(pipe: Pipe, laterByMs: number, arrive: () => void): void {
    if (this.#cutAt !== undefined) this.#held.push({ pipe, sentAt: this.#scheduler.now + laterByMs, arrive });
    else this.#carry(pipe, laterByMs + this.#delayMs(), arrive);
  }

  #delayMs(): number {
    const random = this.#random.next();
    const lossMs = this.losesPackets && random < LOSS ? this.#random.between(200, 800) : 0;
    return FASTEST_MS + random * USUAL_MS + lossMs + this.slowBy * (0.5 + random);
  }

  /** Packets of one pipe keep their order. Packets of another pipe may overtake them. */
  #carry(pipe: Pipe, delayMs: number, arrive: () => void): void {
    pipe.lastAt = Math.max(pipe.lastAt, this.#scheduler.now + delayMs);
    this.#scheduler.at(pipe.lastAt, () => {
      if (!pipe.isSevered) arrive();
    });
  }
}

/** One direction of one TCP connection. */
export class Pipe {
  readonly #link: Link;
  lastAt = 0;
  /** A device in between has forgotten the connection: nothing comes through any more, and neither end is notified. */
  isSevered = false;

  constructor(link: Link) {
    this.#link = link;
  }

  /** @param laterByMs - how much later than now the sender sends it */
  send(arrive: () => void, laterByMs = 0): void {
    if (!this.isSevered) this.#link.send(this, laterByMs, arrive);
  }
}

/** Both ways between two places. */
export class Route {
  readonly there: Link;
  readonly back: Link;

  constructor(scheduler: Scheduler, random: Random) {
    this.there = new Link(scheduler, random);
    this.back = new Link(scheduler, random);
  }

  get links(): readonly [Link, Link] {
    return [this.there, this.back];
  }

  get isWhole(): boolean {
    return !this.there.isCut && !this.back.isCut;
  }

  heal(): void {
    for (const link of this.links) {
      link.heal();
      link.slowBy = 0;
    }
  }
}

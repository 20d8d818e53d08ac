import { setTimeout as pause } from 'node:timers/promises';
import { TcpProxy } from '../../../test/support/faults/tcp-proxy.mjs';
import { within } from '../../../test/support/waiting.mjs';
import { Driver } from '../../harness/driver.mjs';
import { Revocations } from './revocations.mjs';
import { FAULTS, TICK_MS } from './settings.mjs';

/** A leader that isn't replaced within twice the session timeout and this time counts as not replaced. */
const MORE_MS = 12_000;

/**
 * Independent elections of one contestant, each with sessions of its own. There are as many processes as an election has
 * candidates: the first has all leaders, the second the next candidate of each election.
 */
export class Succession {
  #place;
  #command;
  #recipe;
  /** @type {Driver[]} */
  #drivers = [];
  /** Between the leaders and the servers, if the link fails. @type {TcpProxy | undefined} */
  #proxy;
  /** @type {Revocations | undefined} */
  #revocations;
  /** Milliseconds from the failure until another candidate led, by election. @type {number[]} */
  tookMs = [];
  /** The number of elections in which another candidate led before the failure: short leases run out on a busy machine. */
  alreadyLost = 0;
  /** Why there is no result. @type {string | undefined} */
  failure;

  /**
   * @param {import('./settings.mjs').Setting} setting
   * @param {import('../../harness/compare.mjs').Found} contestant
   * @param {{ connect: string, path: string, elections: number }} place
   */
  constructor(setting, { command, recipe }, place) {
    this.setting = setting;
    this.candidates = FAULTS[setting.fault].candidates;
    this.#command = command;
    this.#recipe = recipe;
    this.#place = place;
  }

  /** Runs a step, unless an earlier one has failed. @param {() => Promise<void>} step */
  async attempt(step) {
    if (this.failure !== undefined) return;
    try {
      await step();
    } catch (error) {
      this.failure = error instanceof Error ? error.message.trim() : String(error);
    }
  }

  /** Starts the processes. */
  async open() {
    const { fault } = this.setting;
    const { connect } = this.#place;
    if (fault === 'silent' || fault === 'deaf')
      this.#proxy = await TcpProxy.start(connect, { readable: false });
    if (fault === 'revoked') this.#revocations = await Revocations.open(connect);
    const opened = Array.from({ length: this.candidates }, async (_, at) => {
      const driver = await Driver.start(this.#command, {
        connect: at === 0 ? (this.#proxy?.connectString ?? connect) : connect,
        sessionMs: this.setting.sessionMs,
        recipe: this.#recipe,
        options: this.setting.options,
      });
      this.#drivers[at] = driver;
    });
    // Waits for all, so that no process starts after `end()`.
    const failed = (await Promise.allSettled(opened)).find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw /** @type {PromiseRejectedResult} */ (failed).reason;
  }

  /**
   * Lets a process open its sessions and join all elections, spread over a tick, so that heartbeats and pings are spread too.
   * The first process leads at the end.
   *
   * @param {number} at
   */
  async stand(at) {
    const driver = this.#drivers[at];
    if (driver === undefined) return;
    const numbers = this.#numbers;
    for (const number of numbers) {
      await pause(TICK_MS / numbers.length);
      await driver.open(number + 1);
      await driver.stand(this.#pathOf(number), number);
    }
    if (at === 0) await Promise.all(numbers.map((number) => driver.held(number)));
  }

  /** Lets the leaders fail now, and waits until all are replaced. */
  async fail() {
    const successor = this.#drivers.at(-1);
    if (successor === undefined) throw new Error('no process was started');
    const failedAt = performance.now();
    this.#strike();
    const replaced = Promise.all(this.#numbers.map((number) => successor.held(number)));
    const patienceMs = 2 * this.setting.sessionMs + MORE_MS;
    const heldAt = await within(patienceMs, replaced, 'no other candidate led');
    this.tookMs = heldAt.map((at) => at - failedAt).filter((ms) => ms > 0);
    this.alreadyLost = heldAt.length - this.tookMs.length;
  }

  async end() {
    await Promise.all(this.#drivers.map((driver) => driver?.kill()));
    await this.#proxy?.stop();
    await this.#revocations?.close();
  }

  #strike() {
    const [leader, next] = this.#drivers;
    switch (this.setting.fault) {
      case 'stopped':
        return leader?.freeze();
      case 'silent':
        return void this.#proxy?.partition();
      case 'deaf':
        this.#proxy?.muteNewConnections();
        return void this.#proxy?.partition('downstream');
      case 'revoked':
        void leader?.kill();
        for (const number of this.#numbers) this.#revocations?.repeat(this.#pathOf(number));
        return;
      case 'both killed':
        void next?.kill();
        return void leader?.kill();
      case 'killed':
        return void leader?.kill();
      default:
        throw new Error(`no such failure: ${this.setting.fault}`);
    }
  }

  get #numbers() {
    return Array.from({ length: this.#place.elections }, (_, number) => number);
  }

  /** @param {number} number */
  #pathOf(number) {
    return `${this.#place.path}-${number}`;
  }
}

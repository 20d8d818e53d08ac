import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Blocking } from './block.js';
import type { FailMessage } from './connection-thread.js';
import { type History, type Micros, now } from './history.js';
import type { Link } from './link.js';
import { STOP_WITHIN_MS } from './settings.js';
import type { WallClock } from './wall-clock.js';
import type { Command, Message, Orders } from './worker-protocol.js';

const PROGRAM = join(import.meta.dirname, 'worker.js');
const BEGINS_WITHIN_MS = 60_000;

type CommonOrders = Omit<Orders, 'name' | 'connect' | 'maxStallMs'>;

/** A worker's place: one process after the other, over the same link. */
export class WorkerProcess {
  readonly number: number;
  readonly link: Link;
  readonly clock: WallClock | undefined;
  /** When it acted last, by journal, according to its reports. */
  readonly actedAt = new Map<string, Micros>();
  readonly #history: History;
  readonly #orders: CommonOrders;
  readonly #maxStallMsOf: (start: number) => number | undefined;
  #child: ChildProcess | undefined;
  #starts = 0;
  #isExpectedToEnd = false;

  constructor(
    number: number,
    link: Link,
    clock: WallClock | undefined,
    history: History,
    orders: CommonOrders,
    maxStallMsOf: (start: number) => number | undefined,
  ) {
    this.number = number;
    this.link = link;
    this.clock = clock;
    this.#history = history;
    this.#orders = orders;
    this.#maxStallMsOf = maxStallMsOf;
  }

  /** The name of its process. */
  get name(): string {
    return `w${this.number}.${this.#starts}`;
  }

  /** Of its process. */
  get maxStallMs(): number | undefined {
    return this.#maxStallMsOf(this.#starts);
  }

  /** Resolves when the process has joined the elections, or is about to. */
  async start(): Promise<void> {
    this.#starts++;
    this.#isExpectedToEnd = false;
    const { connect, launcher } = this.link;
    const [execPath = '', ...execArgv] = [...launcher, process.execPath];
    const child = fork(PROGRAM, [], { execPath, execArgv, env: { ...process.env, ...this.clock?.env } });
    this.#child = child;
    const { name } = this;
    child.on('message', (message: Message) => this.#hear(message));
    child.once('exit', (code, signal) => this.#ended(name, code, signal));
    const begun = this.#untilReported('begun');
    const orders = { ...this.#orders, name, connect, maxStallMs: this.maxStallMs };
    this.#send({ command: 'begin', orders });
    await begun;
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    this.#isExpectedToEnd = true;
    await this.#end(() => this.killNow());
  }

  /** Also ends a process that stands still, which doesn't notice the end of this one. */
  killNow(): void {
    this.#child?.kill('SIGKILL');
  }

  /** Ends it by a command. If it doesn't end, it is killed, and the history says so. */
  async stop(): Promise<void> {
    const { name } = this;
    const giveUp = new AbortController();
    const tooLong = async () => {
      await pause(STOP_WITHIN_MS, undefined, { signal: giveUp.signal });
      this.#history.write({ kind: 'stuck', who: name });
      this.#isExpectedToEnd = true; // It doesn't end by itself, and that is reported.
      this.#child?.kill('SIGKILL');
    };
    void tooLong().catch(() => undefined); // It ended in time.
    await this.#end(() => this.#send({ command: 'stop' }));
    giveUp.abort();
  }

  /** Blocks its main thread. */
  block(ms: number, how: Blocking): void {
    this.#send({ command: 'block', ms, how });
  }

  /** Makes the thread of its connections fail, if it has one. */
  failThread(failure: Omit<FailMessage, 'kind'>): void {
    this.#send({ command: 'fail the thread', ...failure });
  }

  resign(journal: string): void {
    this.#send({ command: 'resign', journal });
  }

  explain(journal: string): void {
    this.#send({ command: 'explain', journal });
  }

  /** How far its wall clock is from the true one. */
  async skewMs(): Promise<number> {
    const reported = this.#untilReported('time');
    this.#send({ command: 'report the time' });
    const { wallMs } = await reported;
    return wallMs - Date.now();
  }

  #send(command: Command): void {
    // A process that has ended meanwhile is sent nothing.
    if (this.#child?.connected) this.#child.send(command, () => undefined);
  }

  async #end(how: () => unknown): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    how();
    await exited;
  }

  #ended(who: string, code: number | null, signal: NodeJS.Signals | null): void {
    const how = String(code ?? signal);
    this.#history.write({ kind: 'process ended', who, how, orderly: code === 0 });
    if (code !== 0 && !this.#isExpectedToEnd)
      this.#history.write({ kind: 'failure', what: `${who} ended by itself: ${how}` });
    this.actedAt.clear();
  }

  #hear(message: Message): void {
    if (message.reports === 'acts') this.actedAt.set(message.journal, now());
    if (message.reports === 'acts no more') this.actedAt.delete(message.journal);
  }

  #untilReported<T extends Message['reports']>(reports: T): Promise<Extract<Message, { reports: T }>> {
    const child = this.#child as ChildProcess;
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(timer);
        child.off('message', onMessage).off('exit', onExit);
        act();
      };
      const onMessage = (message: Message) => {
        if (message.reports === reports) settle(() => resolve(message as Extract<Message, { reports: T }>));
      };
      const onExit = () => settle(() => reject(new Error(`${this.name} ended`)));
      const onLate = () => settle(() => reject(new Error(`${this.name} didn't report ${reports}`)));
      const timer = setTimeout(onLate, BEGINS_WITHIN_MS);
      child.on('message', onMessage).on('exit', onExit);
    });
  }
}

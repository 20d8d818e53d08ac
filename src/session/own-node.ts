import { type Clock, sleep, type Timer } from '../clock.js';
import { type Abortable, Ending, onAbort } from '../ending.js';
import { NodeLostError, NoNodeError, ZooKeeperError } from '../errors.js';
import { abortable, deferred, ignore } from '../promises.js';
import type { Reply } from './connection.js';
import type { HeartbeatNode } from './heartbeat.js';
import { Lease } from './lease.js';
import type { Change, NodeData, PartResult, Stat, TransactionPart } from './protocol.js';
import type { Session } from './session.js';

/**
 * When it is watched, in leases from its creation, unless that is asked for before: a lock that is free is mostly held for
 * less, and needn't pay for it. It is when the first heartbeat would find the node gone, too.
 */
const WATCH_AFTER = 1 / 4;

/** What an {@link OwnNode} needs of its session beyond what everybody may call. */
export interface OwnNodePort {
  readonly clock: Clock;
  absolute(path: string): string;
  startHeartbeat(node: HeartbeatNode): void;
  stopHeartbeat(node: HeartbeatNode): void;
}

/**
 * An ephemeral node of this session, and what is known of it: until when it surely exists (its lease), and that it
 * is gone, as soon as anything tells.
 *
 * Ours means present and with this session's id as its `ephemeralOwner`. A node of that path under another session
 * is not ours, whatever its name.
 */
export class OwnNode {
  readonly path: string;
  readonly #session: Session;
  readonly #port: OwnNodePort;
  readonly #lease: Lease;
  readonly #lost = new Ending();
  /** Aborts when it is lost or released, whichever comes first. */
  readonly #over = new Ending();
  readonly #heartbeat: HeartbeatNode;
  #forgetSession: () => void = ignore;
  #lastRead: NodeData | undefined;
  #onRead: (node: NodeData) => void = ignore;
  #onConfirmed: () => void = ignore;
  /** Until it is watched. */
  #watchLater: Timer | undefined;

  /** @param sentAt - when the write that created it was sent, if that is known: the lease counts from then */
  constructor(session: Session, port: OwnNodePort, path: string, sentAt?: number) {
    this.path = path;
    this.#session = session;
    this.#port = port;
    this.#lease = new Lease(port.clock, () => session.leaseMs);
    if (sentAt !== undefined) this.confirm(sentAt);
    this.#heartbeat = {
      path: port.absolute(path),
      confirm: (at) => this.confirm(at),
      lose: () => this.lose(new NodeLostError(`${path} was deleted by somebody else`)),
    };
    this.#forgetSession = onAbort(session.over, () => this.lose(session.over.reason as Error));
    this.#watchLater = port.clock.after(session.leaseMs * WATCH_AFTER, () => this.watch(), {
      background: true,
    });
  }

  /**
   * Aborts when the node is known to be gone: with `NodeLostError`, or with what ended the session. Not when
   * {@link OwnNode.release} was called before.
   */
  get lost(): Ending {
    return this.#lost;
  }

  /** {@link OwnNode.lost}, for those who need a signal of the platform's. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Whether it is known to be gone: lost, or gone with its session. */
  get isGone(): boolean {
    return this.#lost.aborted || this.#session.over.aborted;
  }

  /** How much of the last lease is left, in milliseconds, also when the node is lost or released. */
  remainingMs(): number {
    return this.#lease.remainingMs();
  }

  /** Whether the node is ours and its lease lasts, at this very moment. */
  isCurrent(): boolean {
    return !this.#over.aborted && this.#lease.isCurrent();
  }

  /** A write that checked the node, or created it, was sent at `sentAt` and committed. */
  confirm(sentAt: number): void {
    if (this.#lost.aborted) return;
    this.#lease.confirm(sentAt);
    this.#onConfirmed();
  }

  /** Calls `listener` whenever the lease may have got longer. */
  whenConfirmed(listener: () => void): void {
    this.#onConfirmed = listener;
  }

  /** Sends heartbeats for it from now on, so that its lease goes on and on. */
  keepAlive(): void {
    if (!this.#over.aborted) this.#port.startHeartbeat(this.#heartbeat);
  }

  /**
   * Proves at once that the node is there, and begins a lease. After a lost reply it is also the barrier after which
   * reads tell the truth: whatever was sent before it, on any connection of this session, has happened or never will.
   *
   * @throws NodeLostError if it isn't there, what ended the session, or the signal's reason
   */
  async renew(signal?: Abortable): Promise<void> {
    try {
      const check = () => this.#session.commit([{ kind: 'check', path: this.path }]);
      const { sentAt } = await this.#session.untilAnswered(check, signal);
      this.confirm(sentAt);
    } catch (error) {
      if (error instanceof NoNodeError) this.#heartbeat.lose();
      else throw error;
    }
    this.#lost.throwIfAborted();
  }

  /**
   * Writes `parts` in one transaction that is carried out only while the node is there, and begins a lease if it was.
   *
   * @param beside - further nodes of this session that have to be there
   * @throws NodeLostError if one of the nodes isn't there: nothing is written then; and what `Session.commit` throws
   */
  async commit(
    parts: readonly TransactionPart[],
    beside: readonly OwnNode[] = [],
  ): Promise<Reply<PartResult[]>> {
    const guards = [this, ...beside];
    for (const { lost } of guards) lost.throwIfAborted();
    try {
      const checks = guards.map(({ path }) => ({ kind: 'check', path }) as const);
      const reply = await this.#session.commit([...checks, ...parts]);
      for (const guard of guards) guard.confirm(reply.sentAt);
      return { ...reply, value: reply.value.slice(guards.length) };
    } catch (error) {
      // There are no other checks among the parts.
      if (!(error instanceof NoNodeError && error.operation === 'multi[check]')) throw error;
      const gone = guards.find((guard) => guard.#heartbeat.path === error.path) ?? this;
      gone.#heartbeat.lose();
      throw gone.lost.reason ?? new NodeLostError(`${gone.path} is gone`);
    }
  }

  /** Calls `listener` with what the node says, as soon as that is known and whenever it has changed. */
  whenRead(listener: (node: NodeData) => void): void {
    this.#onRead = listener;
    this.watch();
    if (this.#lastRead !== undefined) listener(this.#lastRead);
  }

  /** It is about to be deleted by us, or has been: no heartbeat any more, and its end is nobody's loss. */
  release(): void {
    this.#stop();
  }

  /** It is gone. The first reason counts. */
  lose(reason: Error): void {
    if (this.#over.aborted) return;
    this.#stop();
    this.#lost.abort(reason);
  }

  #stop(): void {
    this.#over.abort(undefined);
    this.#watchLater?.clear();
    this.#port.stopHeartbeat(this.#heartbeat);
    this.#forgetSession();
  }

  /** Watches it from now on; it would have been a little later. */
  watch(): void {
    if (this.#watchLater === undefined) return;
    this.#watchLater.clear();
    this.#watchLater = undefined;
    void this.#watch(); // Never rejects.
  }

  /** Watches for its deletion. Each change is only a hint: what counts is what is read after it. */
  async #watch(): Promise<void> {
    const over = this.#over;
    try {
      while (!over.aborted) {
        const changed = deferred();
        const onChange = (change: Change) => {
          // Its name is used once: nothing else can have taken its place. And before anything that the server tells
          // after it: the end of the one ahead, say, that would make it our turn.
          if (change === 'deleted') this.#heartbeat.lose();
          changed.resolve();
        };
        const read = () => this.#session.watchData(this.path, onChange, over);
        const node = await this.#session.untilAnswered(read, over);
        this.#checkOwner(node.stat);
        this.#lastRead = node;
        if (!over.aborted) this.#onRead(node);
        await abortable(changed.promise, over);
      }
    } catch (error) {
      if (error instanceof NoNodeError) this.#heartbeat.lose();
      else if (error instanceof ZooKeeperError)
        this.lose(new NodeLostError(`${this.path} can't be read`, { cause: error }));
      else if (!over.aborted) this.lose(error as Error);
    }
  }

  #checkOwner(stat: Stat): void {
    if (!this.#session.owns(stat)) this.lose(new NodeLostError(`${this.path} belongs to another session`));
  }
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Deletes a node of this session, and goes on trying until it is gone or the session is over. A refusal is reported by
 * the session, at the first time: as long as the node stays, everybody behind it waits. Never rejects.
 */
export async function deleteForSure(session: Session, path: string): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await session.untilAnswered(() => session.remove(path));
    } catch (error) {
      if (error instanceof NoNodeError || session.over.aborted) return; // Gone already, or gone with the session.
      if (pauseMs === FIRST_PAUSE_MS) session.report(error as Error, 'a node can not be deleted: trying on');
      await sleep(session.clock, pauseMs, session.over).catch(ignore); // Seen at the next try.
    }
  }
}

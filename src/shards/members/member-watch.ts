import { leaseOf } from '../../election/candidates/candidate-uuid.js';
import { BadVersionError, NodeExistsError, NoNodeError } from '../../errors.js';
import { afterRead, leftMs, type Sign, UNSEEN } from '../../lease/failure-detector.js';
import { isByThread } from '../../lease/heartbeat-node.js';
import { ignore } from '../../platform/async/promises.js';
import type { Timer } from '../../platform/time/clock.js';
import { heartbeatMs } from '../../platform/time/heartbeat-intervals.js';
import { heartbeatNodeOf, parseEntry, type QueueEntry, queueOf } from '../../queue/names-and-order.js';
import { NodeWatch } from '../../session/node-watch.js';
import { isUnanswered } from '../../session/operations.js';
import { isNoAuth } from '../../session/protocol/error-codes.js';
import { hasSession, type TransactionPart } from '../../session/protocol/multi-and-stats.js';
import type { Session } from '../../session/session.js';
import { type MemberData, parseMember } from '../stored/data-formats.js';
import type { GroupPaths } from '../stored/group-paths.js';
import { announcement, tombstone } from './join-and-leave.js';

/** A member of the group, as it was seen. */
export interface SeenMember extends MemberData {
  /** The name of its node. */
  readonly node: string;
  /** Its main thread stands still, and a thread sends its heartbeats: it keeps what it owns, and claims nothing. */
  readonly stalls?: boolean;
}

/** What is known of one member. */
interface Watched {
  readonly entry: QueueEntry;
  /** How long its lease lasts at most, in milliseconds. */
  readonly leaseMs: number;
  /** `undefined`: its node says nothing that can be read. */
  readonly member: SeenMember | undefined;
  /** `missing`: a listing doesn't show its node, which was there, since it was seen or a record named it. That proves nothing. */
  sign: Sign | { readonly name: 'missing' };
  /** See {@link SeenMember}. */
  stalls: boolean;
}

/** Listens to a {@link MemberWatch}. */
export interface MemberWatchListener {
  /** Members have come or gone. */
  onChange(): void;
  /** The members can no longer be watched, since a server refuses: none will be replaced. */
  onError(error: unknown): void;
}

const NO_DATA = Buffer.alloc(0);

/**
 * Watches all members for the planner, and for the next two in line: who is there, and whose lease is over. A member that is silent for
 * longer than its lease loses its node, and has a tombstone from then on. A member that a record names and that is gone gets a tombstone
 * when its lease is over. The servers prove that it is gone: that a listing doesn't show it proves nothing.
 */
export class MemberWatch {
  readonly #session: Session;
  readonly #paths: GroupPaths;
  readonly #own: string;
  readonly #listener: MemberWatchListener;
  /** By the names of their nodes. */
  readonly #members = new Map<string, Watched>();
  readonly #watch: NodeWatch;
  #looking: Promise<void> | undefined;
  #isDue = false;
  #hasStopped = false;
  /** When the heartbeats of all are read next: what comes before is for those that come and go alone. */
  #beatsDueAt = 0;
  /** Until the members are looked at again, and until the next delay is over. */
  #timer: Timer | undefined;
  #decision: Timer | undefined;
  #hasLooked = false;
  /** Since the listener was told last. */
  #hasChanged = false;
  /** Those that records name, though they don't seem to be there. */
  readonly #named = new Set<string>();
  /** Those whose absence is being proved, or whose tombstones are being written. */
  readonly #burying = new Set<string>();
  /** Those of them for which a server has refused that. The refusal was reported, and is tried again. */
  readonly #refused = new Set<string>();

  /** @param own - the name of this member's own node, which it doesn't watch */
  constructor(session: Session, paths: GroupPaths, own: string, listener: MemberWatchListener) {
    this.#session = session;
    this.#paths = paths;
    this.#own = own;
    this.#listener = listener;
    this.#watch = new NodeWatch(session, paths.members, {
      read: () => this.#lookSoon(),
      gone: ignore, // The queue of members was deleted, and this member with it.
      failed: (error) => this.#failed(error),
    });
  }

  /** The members that are there, in the order in which they have come. */
  get present(): SeenMember[] {
    const there = [...this.#members.values()].filter(isThere);
    return there.flatMap(({ member, stalls }) => (member === undefined ? [] : [{ ...member, stalls }]));
  }

  /** Whether it has looked: before that it knows of no member. */
  get hasLooked(): boolean {
    return this.#hasLooked;
  }

  /** Resolves when it has looked: now, or by a look that is under way; also if that fails. Never rejects. */
  async looked(): Promise<void> {
    if (this.#looking === undefined) this.#lookSoon();
    await this.#looking;
  }

  /**
   * A record was read that names the member of that node, which doesn't seem to be there. If the next listing doesn't show it either, and
   * the servers prove that it is gone, it gets a tombstone when its lease is over. One that no record names needs none.
   */
  noteNamed(node: string): void {
    if (parseEntry(node) === undefined || node === this.#own || this.#named.has(node)) return;
    this.#named.add(node);
    this.#lookSoon();
  }

  stop(): void {
    this.#hasStopped = true;
    this.#watch.stop();
    this.#timer?.clear();
    this.#decision?.clear();
  }

  #failed(error: unknown): void {
    if (!this.#hasStopped && !this.#session.ended.aborted) this.#listener.onError(error);
  }

  #watched(entry: QueueEntry, member: SeenMember | undefined, sign: Watched['sign']): Watched {
    const leaseMs = leaseOf(entry) ?? this.#session.sessionTimeoutMs;
    return { entry, leaseMs, member, sign, stalls: false };
  }

  #lookSoon(): void {
    this.#isDue = true;
    if (!this.#hasStopped) this.#looking ??= this.#lookAll(); // Never rejects.
  }

  async #lookAll(): Promise<void> {
    this.#timer?.clear();
    try {
      while (this.#isDue && !this.#hasStopped) {
        this.#isDue = false;
        await this.#look();
      }
    } catch (error) {
      // Without an answer the next look goes over the next connection. After a refusal it asks again when heartbeats are due.
      if (!isUnanswered(error)) {
        this.#failed(error);
        this.#isDue = false;
        this.#beatsDueAt = this.#session.clock.now() + heartbeatMs(this.#session.leaseMs);
      }
    } finally {
      this.#looking = undefined;
      if (!this.#hasStopped && !this.#session.ended.aborted) {
        const { clock } = this.#session;
        this.#timer = clock.after(Math.max(0, this.#beatsDueAt - clock.now()), () => this.#lookSoon());
      }
    }
  }

  /** One listing, and one read for each member, in one packet behind it: each quarter of a lease for all, else for those that are new. */
  async #look(): Promise<void> {
    const { clock, leaseMs } = this.#session;
    const readsBeats = clock.now() >= this.#beatsDueAt;
    if (readsBeats) this.#beatsDueAt = clock.now() + heartbeatMs(leaseMs);
    const named = [...this.#named]; // A listing that was sent before a record was read wouldn't show the member that this names.
    const names = (await this.#session.listChildren(this.#paths.members)).strings();
    const entries = queueOf(names);
    const listed = new Set(entries.map(({ node }) => node));
    for (const [node, watched] of this.#members) {
      if (listed.has(node)) {
        if (watched.sign.name === 'missing') this.#members.delete(node); // It is there after all: it is met anew.
      } else if (isThere(watched)) {
        watched.sign = { name: 'missing' };
        this.#hasChanged = true;
      }
    }
    for (const node of named) {
      const entry = parseEntry(node);
      if (listed.has(node)) this.#named.delete(node);
      else if (entry !== undefined && !this.#members.has(node))
        this.#members.set(node, this.#watched(entry, undefined, { name: 'missing' }));
    }
    const looks = entries.flatMap((entry) => {
      const watched = this.#members.get(entry.node);
      if (watched === undefined) return [this.#meet(entry)];
      return readsBeats ? [this.#listen(watched)] : [];
    });
    const looked = await Promise.allSettled(looks);
    const failed = looked.find((look) => look.status === 'rejected');
    if (failed === undefined && !this.#hasLooked) this.#hasLooked = this.#hasChanged = true;
    if (this.#hasChanged && !this.#hasStopped) {
      this.#hasChanged = false;
      this.#listener.onChange();
    }
    this.#decide();
    if (failed !== undefined) throw failed.reason;
  }

  /** A member that is new here, unless it has gone again. */
  async #meet(entry: QueueEntry): Promise<void> {
    try {
      const { data, stat } = await this.#session.getData(`${this.#paths.members}/${entry.node}`);
      if (!hasSession(stat)) return; // It would stay forever.
      const parsed = parseMember(data);
      const member = parsed && { ...parsed, node: entry.node };
      const watched = this.#watched(entry, member, UNSEEN);
      this.#members.set(entry.node, watched);
      this.#hasChanged = true;
      await this.#listen(watched);
    } catch (error) {
      if (error instanceof NoNodeError) return;
      if (!isNoAuth(error)) throw error;
      this.#members.set(entry.node, this.#watched(entry, undefined, UNSEEN)); // It is there, and gets no shards.
    }
  }

  async #listen(watched: Watched): Promise<void> {
    const { entry } = watched;
    if (entry.node === this.#own) return;
    const { clock, connectionNumber: connection } = this.#session;
    const readAt = clock.now();
    const path = `${this.#paths.members}/${heartbeatNodeOf(entry.node)}`;
    const stat = await this.#session.exists(path).catch((error: unknown) => {
      if (!isNoAuth(error)) throw error;
      return undefined; // Then only the end of its session shows its end.
    });
    const { sign } = watched;
    if (sign.name === 'missing' || sign.name === 'gone') return;
    const stalls = stat !== undefined && isByThread(stat);
    if (stalls !== watched.stalls) this.#hasChanged = true;
    watched.stalls = stalls;
    if (stat !== undefined) watched.sign = afterRead(sign, stat, { readAt, now: clock.now(), connection });
    else if (sign.name === 'beating') watched.sign = { ...sign, connection }; // A server that is behind may not show the node.
  }

  /** Buries those whose lease is over, and looks again when the next one's may be. */
  #decide(): void {
    this.#decision?.clear();
    if (this.#hasStopped) return;
    const { clock } = this.#session;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const watched of this.#members.values()) {
      if (watched.entry.node === this.#own || this.#burying.has(watched.entry.node)) continue;
      const { sign, leaseMs } = watched;
      if (sign.name === 'missing') {
        if (this.#named.has(watched.entry.node)) void this.#prove(watched);
        else this.#members.delete(watched.entry.node); // If a record names it, it comes again.
        continue;
      }
      const ms = leftMs(sign, { leaseMs }, clock.now());
      if (ms > 0) {
        nextMs = Math.min(nextMs, ms);
        continue;
      }
      const { connectionNumber } = this.#session;
      // In a restored backup its heartbeats may come to that version again: over another connection that is read first.
      if (
        sign.name === 'beating' &&
        (connectionNumber === undefined || sign.connection !== connectionNumber)
      ) {
        this.#beatsDueAt = 0;
        if (connectionNumber !== undefined) this.#lookSoon();
        continue;
      }
      void this.#bury(watched, sign.name === 'beating' ? sign.version : undefined);
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#decision = clock.after(nextMs, () => this.#decide());
  }

  /** Has the servers prove that its node is gone. Its delay counts from their answer. Never rejects. */
  async #prove(watched: Watched): Promise<void> {
    const { node } = watched.entry;
    this.#burying.add(node);
    try {
      await this.#session.commit(this.#absence(node));
      watched.sign = { name: 'gone', since: this.#session.clock.now() };
      this.#refused.delete(node);
    } catch (error) {
      this.#unproved(node, error);
    } finally {
      this.#burying.delete(node);
      if (watched.sign.name === 'gone') this.#decide();
      else if (!this.#refused.has(node)) this.#lookSoon();
    }
  }

  /** @param version - of the heartbeat node of a member that is there. Never rejects */
  async #bury(watched: Watched, version: number | undefined): Promise<void> {
    const { node } = watched.entry;
    const { logger } = this.#session;
    this.#burying.add(node);
    try {
      if (version !== undefined)
        logger.info(
          { member: watched.member?.id ?? node },
          'no heartbeat from the member for longer than its lease',
        );
      await this.#session.commit([
        ...(version === undefined ? this.#absence(node) : this.#deletions(node, version)),
        tombstone(this.#paths, node),
        announcement(this.#paths),
      ]);
      this.#forgetMember(node);
      this.#listener.onChange();
    } catch (error) {
      const hasChanged = error instanceof BadVersionError || error instanceof NoNodeError;
      // There was another heartbeat, or it has gone: the next look finds out, and observes it anew.
      if (hasChanged && version !== undefined) {
        this.#beatsDueAt = 0;
        if (isThere(watched)) watched.sign = UNSEEN;
      } else this.#unproved(node, error);
    } finally {
      this.#burying.delete(node);
      if (!this.#refused.has(node)) this.#lookSoon(); // A refused proof or tombstone waits for the next look that is due.
    }
  }

  /** Neither its absence is proved nor its tombstone written. The next look goes on from there. */
  #unproved(node: string, error: unknown): void {
    if (error instanceof NodeExistsError) return this.#forgetMember(node); // It is there after all, or another one has buried it.
    if (isUnanswered(error) || this.#refused.has(node)) return;
    this.#refused.add(node);
    this.#failed(error);
  }

  #forgetMember(node: string): void {
    this.#members.delete(node);
    this.#named.delete(node);
    this.#refused.delete(node);
  }

  #deletions(node: string, version: number): TransactionPart[] {
    return [
      { kind: 'delete', path: `${this.#paths.members}/${heartbeatNodeOf(node)}`, version },
      { kind: 'delete', path: `${this.#paths.members}/${node}` },
    ];
  }

  /** Parts that the servers refuse if the member's node is there, and that leave nothing: no read comes between them. */
  #absence(node: string): TransactionPart[] {
    const path = `${this.#paths.members}/${node}`;
    return [
      { kind: 'create', path, data: NO_DATA },
      { kind: 'delete', path },
    ];
  }
}

function isThere({ sign }: Watched): boolean {
  return sign.name === 'beating' || sign.name === 'unseen';
}

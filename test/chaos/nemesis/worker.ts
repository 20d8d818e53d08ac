/** A worker. It is a candidate in every election, uses every lock and is a member of the group of shards. It acts while it leads or holds, and writes all of this down. */
import { setTimeout as pause } from 'node:timers/promises';
import type { ElectedTerm } from '../../../src/election/term/elected-term.js';
import {
  DistributedLock,
  ElectionSupervisor,
  type LockHold,
  Session,
  type SessionOptions,
  type Shard,
  ShardSupervisor,
  type Term,
} from '../../../src/index.js';
import type { OwnedShard } from '../../../src/shards/ownership/owned-shard.js';
import { countLeasesFromReplies } from '../../support/conclave/leases-from-replies.js';
import { takeAwayTakeoverDelay } from '../../support/conclave/no-takeover-delay.js';
import { Acting, type Actor } from './acting.js';
import { type Blocking, block } from './block.js';
import { History, type Journal } from './history.js';
import { SHARDS, shardJournal } from './settings.js';
import { watchShownVersions } from './shown-versions.js';
import { SinkClient } from './sink-client.js';
import { ActingThread, failConnectionThreads, makeConnectionThreadsFail } from './threads.js';
import { type Command, GROUP, type Message, type Orders, pathOf } from './worker-protocol.js';

// Often enough to see an overlap of leases, which last for more than a second. The machine has other things to do.
const ACT_EVERY_MS = 40;
const ACT_FOR_SHARD_EVERY_MS = 100; // There are more shards than elections.
const ACTS_PER_HOLD = 5;
const BETWEEN_HOLDS_MS = 300;
const PATIENCE_MS = 20_000;
const RETRY = { minTimeout: 50, maxTimeout: 1000 };

class Worker {
  readonly #orders: Orders;
  readonly #history: History;
  readonly #sink: SinkClient;
  /** Acts beside this thread, if the sessions have `maxStallMs`. */
  readonly #thread: ActingThread | undefined = undefined;
  readonly #supervisors = new Map<string, ElectionSupervisor>();
  readonly #stop = new AbortController();
  #shards: ShardSupervisor | undefined;
  #users: Promise<void>[] = [];
  #writes = 0;

  constructor(orders: Orders, sink: SinkClient) {
    this.#orders = orders;
    this.#history = new History(orders.historyPath);
    this.#sink = sink;
    const { name: who, historyPath, sinkPath, maxStallMs, areThreadsCareless: isCareless } = orders;
    if (maxStallMs === undefined) return;
    makeConnectionThreadsFail({ who, historyPath });
    this.#thread = new ActingThread({ who, historyPath, sinkPath, isCareless });
  }

  begin(): void {
    if (!this.#orders.hasTakeoverDelay) takeAwayTakeoverDelay();
    if (this.#orders.areLeasesFromReplies) countLeasesFromReplies();
    const { name: who, maxStallMs } = this.#orders;
    this.#history.write({ kind: 'process began', who, maxStallMs });
    this.#noteShownVersions();
    for (const journal of this.#orders.journals) {
      if (journal.kind === 'election') this.#stand(journal);
      if (journal.kind === 'lock') this.#users.push(this.#useLock(journal));
    }
    this.#own();
    report({ reports: 'begun' });
  }

  block(ms: number, how: Blocking): void {
    const { name: who } = this.#orders;
    this.#history.write({ kind: 'stalls', who, forMs: ms });
    block(ms, how);
    this.#history.write({ kind: 'stalled', who });
  }

  async resign(journal: string): Promise<void> {
    await this.#supervisors.get(journal)?.resign();
  }

  /** How it sees an election, for readers who want to know why there is no leader. */
  explain(journal: string): void {
    if (journal === shardJournal(SHARDS[0])) this.#note(`shards: ${JSON.stringify(this.#shards?.health())}`);
    const supervisor = this.#supervisors.get(journal);
    if (supervisor === undefined) return;
    const { number, signal } = supervisor.term ?? {};
    const term = number === undefined ? 'no term' : `term ${number}, ${signal?.aborted ? 'ended' : 'held'}`;
    this.#note(`${journal}: ${JSON.stringify(supervisor.health())}, ${term}`);
  }

  /** Leaves everything. Then the process ends by itself, unless something was left behind in it. */
  async stop(): Promise<void> {
    this.#stop.abort();
    const supervisors = [...this.#supervisors.values(), ...(this.#shards ? [this.#shards] : [])];
    await Promise.all(supervisors.map((supervisor) => supervisor.stop()));
    await Promise.all(this.#users);
    this.#sink.close();
  }

  #noteShownVersions(): void {
    const { journals, name: who } = this.#orders;
    const journalAt = new Map(journals.map((journal) => [pathOf(journal), journal.name]));
    const known = new Set<string>();
    watchShownVersions((path, { czxid, version, mzxid }) => {
      const journal = journalAt.get(path);
      const shown = `${journal} ${czxid} ${version} ${mzxid}`;
      if (journal === undefined || known.has(shown)) return;
      known.add(shown);
      const [node, zxid] = [String(czxid), String(mzxid)];
      this.#history.write({ kind: 'shown', who, journal, node, version, zxid });
    });
  }

  #stand(journal: Journal): void {
    const { connect, name: who } = this.#orders;
    const supervisor = new ElectionSupervisor({
      connect,
      path: pathOf(journal),
      id: who,
      session: this.#session,
      retry: RETRY,
      lead: (term) => this.#act(journal, term, ACT_EVERY_MS),
      cleanup: async () => {
        this.#history.write({ kind: 'cleaned', who, journal: journal.name });
      },
    });
    supervisor.on('elected', (term) => {
      const { number, token } = term;
      this.#history.write({
        kind: 'elected',
        who,
        journal: journal.name,
        term: number,
        token: String(token),
        version: (term as ElectedTerm).claim.version,
      });
    });
    supervisor.on('demoted', ({ token }, reason) => {
      this.#history.write({ kind: 'demoted', who, journal: journal.name, token: String(token), reason });
      report({ reports: 'acts no more', journal: journal.name });
    });
    supervisor.on('error', (error) => this.#note(`${journal.name}: ${error.message}`));
    this.#supervisors.set(journal.name, supervisor);
    supervisor.start().catch((error: Error) => {
      this.#noteUnlessStopped(`${journal.name}: ${error.message}`);
    });
  }

  /** Owns shards. The processes of one place have one id, so each is at home where the one before it was. */
  #own(): void {
    const { connect, name: who, journals } = this.#orders;
    const journalOf = ({ id }: Pick<Shard, 'id'>) =>
      journals.find(({ name }) => name === shardJournal(id)) as Journal;
    const supervisor = new ShardSupervisor({
      ...{ connect, path: GROUP.group, shards: SHARDS.length, retry: RETRY },
      id: who.replace(/\..*/, ''),
      session: this.#session,
      run: (shard) => this.#act(journalOf(shard), shard, ACT_FOR_SHARD_EVERY_MS),
      cleanup: async ({ shards }) => {
        for (const shard of shards)
          this.#history.write({ kind: 'cleaned', who, journal: journalOf(shard).name });
      },
    });
    supervisor.on('acquired', (shard) => {
      const { number: term, token } = shard;
      const { version } = (shard as OwnedShard).claim;
      const journal = journalOf(shard).name;
      this.#history.write({ kind: 'elected', who, journal, term, token: String(token), version });
    });
    const ended = (shard: Shard, reason: string) => {
      const journal = journalOf(shard).name;
      this.#history.write({ kind: 'demoted', who, journal, token: String(shard.token), reason });
      report({ reports: 'acts no more', journal });
    };
    supervisor.on('released', ended).on('lost', ended);
    supervisor.on('error', (error) => this.#note(`shards: ${error.message}`));
    this.#shards = supervisor;
    supervisor.start().catch((error: Error) => this.#noteUnlessStopped(`shards: ${error.message}`));
  }

  /** The options of all sessions. */
  get #session(): SessionOptions {
    const { sessionTimeoutMs, maxStallMs } = this.#orders;
    return { sessionTimeoutMs, ...(maxStallMs !== undefined && { maxStallMs }) };
  }

  /** Acts while the term is held. So does the other thread, if there is one: it learns of the end from the handle. */
  async #act(journal: Journal, term: Term | Shard, everyMs: number): Promise<void> {
    this.#thread?.act(journal.name, term.handle(), everyMs);
    term.signal.addEventListener('abort', () => this.#thread?.ended(journal.name, term.token));
    const acting = await Acting.begin(this.#actorOf(journal), term);
    while (await acting?.act()) await pause(everyMs);
  }

  /** Takes the lock, acts a few times and gives it back, again and again. When a session has ended it opens a new one. */
  async #useLock(journal: Journal): Promise<void> {
    const { connect } = this.#orders;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let session: Session | undefined;
      try {
        session = await Session.connect(connect, { ...this.#session, signal });
        await this.#useLockOf(session, journal);
      } catch (error) {
        this.#noteUnlessStopped(`${journal.name}: ${codeOf(error)}`);
        await pause(BETWEEN_HOLDS_MS, undefined, { signal }).catch(() => undefined);
      } finally {
        await session?.close();
      }
    }
  }

  async #useLockOf(session: Session, journal: Journal): Promise<void> {
    const { signal } = this.#stop;
    const lock = new DistributedLock(session, pathOf(journal));
    while (!signal.aborted && !session.signal.aborted) {
      await lock.using((hold) => this.#hold(journal, hold), { timeoutMs: PATIENCE_MS, signal });
      await pause(BETWEEN_HOLDS_MS, undefined, { signal });
    }
  }

  async #hold(journal: Journal, hold: LockHold): Promise<void> {
    const acting = await Acting.begin(this.#actorOf(journal), hold);
    for (let act = 0; act < ACTS_PER_HOLD && (await acting?.act()); act++) await pause(ACT_EVERY_MS);
    report({ reports: 'acts no more', journal: journal.name });
  }

  #actorOf({ name: journal }: Journal): Actor {
    const { name: who } = this.#orders;
    return {
      who,
      journal,
      history: this.#history,
      sink: this.#sink,
      hand: 'main',
      onAct: () => report({ reports: 'acts', journal }),
      nextWrite: () => `${who}-${++this.#writes}`,
    };
  }

  #noteUnlessStopped(what: string): void {
    if (!this.#stop.signal.aborted) this.#note(what);
  }

  #note(what: string): void {
    this.#history.write({ kind: 'note', what: `${this.#orders.name}: ${what}` });
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: string }).code ?? error);
}

function report(message: Message): void {
  if (process.connected) process.send?.(message);
}

// Without the process that has started it, it is useless.
const exit = () => process.exit(1);
process.once('disconnect', exit);
let worker: Worker | undefined;
process.on('message', async (command: Command) => {
  switch (command.command) {
    case 'begin':
      worker = new Worker(command.orders, await SinkClient.open(command.orders.sinkPath));
      return worker.begin();
    case 'block':
      return worker?.block(command.ms, command.how);
    case 'fail the thread':
      return failConnectionThreads(command);
    case 'resign':
      return await worker?.resign(command.journal).catch(() => undefined); // It may lose its session first.
    case 'report the time':
      return report({ reports: 'time', wallMs: Date.now() });
    case 'explain':
      return worker?.explain(command.journal);
    case 'stop':
      await worker?.stop();
      process.off('disconnect', exit);
      process.disconnect();
  }
});

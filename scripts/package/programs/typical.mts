/** A typical program, compiled with the strictest options. It imports several modules, and passes objects of one module to another. */
import { createServer, type Server } from 'node:http';
import {
  type Clock,
  ConclaveError,
  DistributedLock,
  ElectionObserver,
  ElectionSupervisor,
  type ElectionSupervisorOptions,
  healthHandler,
  LeaderElector,
  type LockHold,
  type QueueLock,
  Session,
  type ShardMember,
  ShardObserver,
  type Term,
} from 'conclave';
import { type DashboardHandler, dashboard, toNodeListener } from 'conclave/dashboard';
import { LeaderJobs } from 'conclave/jobs';
import {
  type EmbeddedSession,
  EmbeddedZooKeeper,
  nextEvent,
  recordEvents,
  TestClock,
} from 'conclave/testing';

// conclave accepts the clock of conclave/testing, and an environment with that clock.
export const clock = new TestClock();
export const asClock: Clock = clock;

export const server = await EmbeddedZooKeeper.start({ clock });
export const session = await Session.connect(server.connectString, { environment: clock.environment });
export const ended: Promise<unknown[]> = nextEvent(session, 'expired');
export const events = recordEvents(session);
export const embedded: EmbeddedSession | undefined = server.sessions()[0];

const options: ElectionSupervisorOptions = {
  connect: server.connectString,
  path: '/elections/scheduler',
  session: { environment: clock.environment },
  lead: async (term: Term) => {
    await term
      .transaction()
      .setData('/state', Buffer.from(String(term.token)))
      .commit();
  },
  cleanup: ({ term }) => console.log(term?.number),
};
export const supervisor = new ElectionSupervisor({
  ...options,
  id: undefined,
  session: { leaseMs: undefined },
});
export const health: Server = createServer(healthHandler(supervisor));
supervisor.on('error', (error: ConclaveError) => console.error(error.code, error.retryable));
supervisor.on('demoted', (term, reason) => console.log(term.number, reason satisfies string));
// @ts-expect-error There is no such event.
supervisor.on('elevated', () => undefined);
// @ts-expect-error Internal members are not declared.
void session.own('/node');

// `lead` gets what `prepare` returns: the type is inferred, also of a promise. Without `prepare` it is `undefined`.
export const warm: ElectionSupervisor = new ElectionSupervisor({
  ...options,
  prepare: async ({ signal }) => ({ entries: new Map<string, bigint>(), isClosed: () => signal.aborted }),
  lead: async (term, cache) => {
    cache.entries.set('token', term.token);
    // @ts-expect-error It has no other members.
    cache.close();
  },
});
export const warmElector = new LeaderElector(session, '/elections/warm', {
  prepare: () => 7,
  lead: (_, warmed) => warmed.toFixed(),
});
export const cold = new LeaderElector(session, '/elections/cold', {
  lead: (_, nothing) => nothing satisfies undefined,
});
export const explicit: ElectionSupervisorOptions<number> = {
  ...options,
  prepare: () => 7,
  lead: (_, n) => n + 1,
};

// conclave/jobs accepts the elections of conclave.
export const elector = new LeaderElector(session, '/elections/consumer', {
  lead: (term) => term.assertHeld(),
});
export const jobs = [new LeaderJobs(supervisor), new LeaderJobs(elector)];
export const report = jobs[0]?.job('report', ({ term }): Term => term);

// conclave/dashboard accepts the sessions of conclave.
export const page: DashboardHandler = dashboard({ session, root: '/elections', authorize: () => false });
export const listener = toNodeListener(page);
dashboard({ session: supervisor });

export const lock: QueueLock = new DistributedLock(session, '/locks/report', { data: 'me' });
export const hold: LockHold = await lock.acquire({ timeoutMs: 5000 });
await using observer = new ElectionObserver(supervisor, '/elections/scheduler');
for await (const leader of observer) console.log(leader?.id satisfies string | undefined);

await using shards = new ShardObserver(supervisor, '/shards/orders');
shards.on('change', (changes) => console.log(changes.get('7')?.data satisfies string | undefined));
export const owner: ShardMember | undefined = shards.ownerOf('order-17') ?? shards.ownerOfShard('7');
for await (const owners of shards) console.log(owners.get('7')?.id satisfies string | undefined);

export function codeOf(error: unknown): string | undefined {
  return error instanceof ConclaveError ? error.code : undefined;
}

import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cleanUpSession } from '../../src/cluster/dead-children/give-back-terms.js';
import { openSessionOf } from '../../src/cluster/dead-children/guarded-process.js';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { serializeCandidate } from '../../src/election/candidates/candidate.js';
import { candidateUuid } from '../../src/election/candidates/candidate-uuid.js';
import type { LeaderElectorOptions } from '../../src/election/elector-options.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { revokeLeader } from '../../src/election/revoke-leader.js';
import type { Term } from '../../src/election/term/term.js';
import { takeoverDelayMs } from '../../src/lease/failure-detector.js';
import { joinWithHeartbeats } from '../../src/queue/join-queue.js';
import { heartbeatNodeOf, parseEntry } from '../../src/queue/names-and-order.js';
import { connectSource } from '../../src/session/connection/server-list.js';
import type { Session } from '../../src/session/session.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import { permitAll } from '../support/conclave/shard-owners.js';
import { loggerOfWarnings } from '../support/recording-logger.js';
import { sessionAt, startWithTestClock } from '../support/servers/embedded-with-test-clock.js';
import { SILENT } from '../support/silent-logger.mjs';
import { deferred } from '../support/waiting.mjs';
import { PERMISSION } from '../support/wire/operations.js';

const PATH = '/election';
const TIMES = { sessionTimeoutMs: 30_000, leaseMs: 2000 };
const DELAY_MS = takeoverDelayMs(TIMES.leaseMs);

async function setUp() {
  const { clock, server, open } = await startWithTestClock();
  const join = async (id: string, options: LeaderElectorOptions = {}, times: SessionOptions = TIMES) => {
    const session = await open(times);
    const elector = new LeaderElector(session, PATH, { ...options, id });
    onTestFinished(() => {
      server.clearFaults();
      return clock.advanceUntil(elector.stop());
    });
    return { elector, session, at: sessionAt(server, session) };
  };
  const start = async (...how: Parameters<typeof join>) => {
    const candidate = await join(...how);
    await clock.advanceUntil(candidate.elector.start());
    return candidate;
  };
  const startLeader = async (...how: Parameters<typeof join>) => {
    const leader = await start(...how);
    return { ...leader, term: await clock.advanceUntil(() => leader.elector.term as Term) };
  };
  const operator = await open(TIMES);
  const nodeOf = async (id: string) => {
    const reader = new LeaderElector(operator, PATH);
    const found = (await clock.advanceUntil(reader.candidates())).find((each) => each.id === id);
    return found?.node as string;
  };
  const deleteNodesOf = async (id: string) => {
    const node = await nodeOf(id);
    await clock.advanceUntil(
      operator.commit([
        { kind: 'delete', path: `${PATH}/${heartbeatNodeOf(node)}` },
        { kind: 'delete', path: `${PATH}/${node}` },
      ]),
    );
  };
  return { clock, server, open, join, start, startLeader, operator, nodeOf, deleteNodesOf };
}

describe('a candidate that has led', () => {
  it('waits for the lease of a leader whose election was deleted', async () => {
    const { clock, server, start, startLeader, operator, deleteNodesOf } = await setUp();
    const work = deferred();
    let terms = 0;
    const a = await startLeader('a', { lead: (term) => (++terms === 1 ? work.promise : term.ended) });
    const b = await start('b');
    await clock.advance(10_000);
    await deleteNodesOf('a'); // Another client, or a takeover. The work of `a` takes its time to settle.
    const term = (await clock.advanceUntil(() => b.elector.term)) as Term;
    expect(term.number).toBe(2);
    await clock.advance(10_000);
    b.at.partition();
    const all = server.paths(PATH).reverse();
    await clock.advanceUntil(operator.commit(all.map((path) => ({ kind: 'delete', path }))));
    work.resolve();
    const again = (await clock.advanceUntil(() => a.elector.term)) as Term;
    expect([again.isHeld(), term.isHeld()]).not.toEqual([true, true]);
  });
});

describe('a supervised candidate whose session ends', () => {
  it('waits for the lease of a leader whose election was deleted', async () => {
    const { clock, server, startLeader, operator, nodeOf } = await setUp();
    const { term, at } = await startLeader('leader', {}, { sessionTimeoutMs: 30_000, leaseMs: 8000 });
    const supervisor = new ElectionSupervisor({
      connect: server.connectString,
      path: PATH,
      id: 'next',
      session: { ...TIMES, environment: clock.environment },
      logger: SILENT,
    });
    onTestFinished(() => clock.advanceUntil(supervisor.stop()));
    supervisor.on('error', () => undefined);
    await clock.advanceUntil(supervisor.start());
    await clock.advance(10_000);
    at.partition();
    const node = `${PATH}/${await nodeOf('next')}`;
    const all = server.paths(PATH).reverse();
    server.sessionOf(node)?.expire();
    const left = all.filter((path) => server.data(path) !== undefined);
    await clock.advanceUntil(operator.commit(left.map((path) => ({ kind: 'delete', path }))));
    const again = (await clock.advanceUntil(() => supervisor.term)) as Term;
    expect([again.isHeld(), term.isHeld()]).not.toEqual([true, true]);
  });
});

describe('a candidate that joins while the record cannot be read', () => {
  const LONG = { sessionTimeoutMs: 30_000, leaseMs: 8000 };
  const SHORT = { sessionTimeoutMs: 30_000, leaseMs: 1000 };
  for (const isBefore of [true, false])
    it(`waits for the lease of the leader whose name is in the queue: joined ${isBefore ? 'before' : 'after'} the record was overwritten`, async () => {
      const { clock, join, startLeader, operator, deleteNodesOf } = await setUp();
      const { term, at } = await startLeader('leader', {}, LONG);
      const next = await join('next', {}, SHORT);
      if (isBefore) await clock.advanceUntil(next.elector.start());
      await clock.advance(10_000);
      at.partition();
      await clock.advanceUntil(operator.setData(PATH, Buffer.from('x')));
      if (!isBefore) await clock.advanceUntil(next.elector.start());
      await clock.advance(100);
      expect(next.elector.state.name).toBe('waiting'); // Behind the leader's node, whose name says its lease.
      await deleteNodesOf('leader');
      const second = (await clock.advanceUntil(() => next.elector.term)) as Term;
      expect([second.isHeld(), term.isHeld()]).not.toEqual([true, true]);
    });
});

describe('a term whose record another client writes while its work settles', () => {
  it('is lost for that, and not because its node was deleted', async () => {
    const { clock, join, operator } = await setUp();
    const work = deferred();
    const a = await join('a', { lead: () => work.promise });
    const lost: unknown[] = [];
    a.elector.beforeRelease(async (_, lostFor) => void lost.push(lostFor));
    await clock.advanceUntil(a.elector.start());
    await clock.advanceUntil(() => a.elector.term);
    void a.elector.resign();
    await clock.advanceUntil(operator.setData(PATH, Buffer.from('x')));
    await clock.advance(TIMES.leaseMs);
    work.resolve();
    await clock.advanceUntil(() => lost.length > 0);
    expect(lost).toEqual(['record-overwritten']);
  });
});

describe('a takeover that is refused because the record may not be written', () => {
  it('is not said to be refused for the nodes of the leader', async () => {
    const { clock, server, startLeader, open } = await setUp();
    const { warnings, logger } = loggerOfWarnings();
    const leader = await startLeader('leader');
    const session: Session = await open({ ...TIMES, logger });
    const next = new LeaderElector(session, PATH, { id: 'next', logger });
    const errors: Error[] = [];
    next.on('error', (error) => void errors.push(error));
    onTestFinished(() => {
      server.clearFaults();
      return clock.advanceUntil(next.stop());
    });
    await clock.advanceUntil(next.start());
    await clock.advance(10_000);
    leader.at.partition();
    await permitAll(server, PATH, PERMISSION.read | PERMISSION.create | PERMISSION.delete);
    await clock.advance(4 * DELAY_MS);
    expect(warnings.join()).not.toContain("may not delete the leader's node");
  });
});

describe('a candidate that was handed a term which another client took away', () => {
  it('keeps its priority', async () => {
    const { clock, server, start, startLeader, operator } = await setUp();
    const former = await startLeader('former');
    const record = server.data(PATH) as Buffer;
    const plain = await start('plain');
    const other = await start('other');
    const preferred = await start('preferred', { priority: 5 });
    await clock.advance(10_000);
    preferred.at.partition();
    const resigning = former.elector.resign();
    await clock.advance(20);
    expect(server.data(PATH)?.toString()).toContain('"preferred"');
    await clock.advanceUntil(operator.setData(PATH, vacant(record)));
    await clock.advance(20);
    preferred.at.heal();
    await clock.advance(5000);
    await clock.advanceUntil(resigning);
    const leaders = [former, plain, preferred].filter(({ elector }) => elector.term !== undefined);
    const leader = leaders[0]?.elector as LeaderElector;
    void leader.resign();
    await clock.advance(5000);
    const next = [former, plain, other, preferred].find(({ elector }) => elector.term !== undefined);
    expect(next?.elector.id).toBe('preferred');
  });
});

describe('a session that leads many elections', () => {
  it('keeps a term though another client overwrites the records of many others at the same time', async () => {
    const { clock, server, open } = await startWithTestClock();
    const session = await open(TIMES);
    const operator = await open(TIMES);
    const paths = Array.from({ length: 40 }, (_, at) => `/many-${at}`);
    const electors = ['/calm', ...paths].map((path) => new LeaderElector(session, path));
    onTestFinished(async () => {
      server.clearFaults();
      for (const elector of electors) await clock.advanceUntil(elector.stop());
    });
    for (const elector of electors) await clock.advanceUntil(elector.start());
    await clock.advanceUntil(() => electors.every(({ term }) => term !== undefined));
    const term = electors[0]?.term as Term;
    await clock.advance(5000);
    server.delay(60, { only: 'multi' });
    await clock.advance(5000);
    expect(term.isHeld()).toBe(true);
    await clock.advanceUntil(
      operator.commit(paths.map((path) => ({ kind: 'set', path, data: Buffer.from('x') }))),
    );
    await clock.advance(10_000);
    expect(term.signal.aborted).toBe(false);
  });
});

it('a request to step down reaches the leader also if another one comes before the leader has read it', async () => {
  const { clock, open, startLeader } = await setUp();
  const leader = await startLeader('leader', { onRevoke: ({ by }) => by === 'one' });
  const [one, two] = [await open(TIMES), await open(TIMES)];
  await clock.advance(5000);
  const at = clock.now();
  const answers: string[] = [];
  const ask = (session: typeof one, by: string) =>
    revokeLeader(session, PATH, { by, graceMs: 5000 }).then(
      () => void answers.push(`${by} ${Math.round(clock.now() - at)} stepped down`),
      (error: Error) => void answers.push(`${by} ${Math.round(clock.now() - at)} ${error.message}`),
    );
  leader.at.partition();
  const first = ask(one, 'one');
  await clock.advance(50);
  const second = ask(two, 'two');
  await clock.advance(50);
  leader.at.heal();
  await clock.advanceUntil(Promise.all([first, second]));
  expect(answers.find((answer) => answer.startsWith('one'))).toContain('stepped down');
});

for (const isCut of [false, true])
  it(`the candidate with the highest priority leads next when a leader resigns ${isCut ? 'without' : 'with'} a connection`, async () => {
    const { clock, server, start, startLeader } = await setUp();
    const leader = await startLeader('leader');
    await start('plain');
    const preferred = await start('preferred', { priority: 7 });
    await clock.advance(5000);
    if (isCut) {
      server.refuse();
      onTestFinished(() => server.admit());
      leader.at.dropConnection();
      await clock.advance(10);
    }
    void leader.elector.resign();
    await clock.advance(100);
    server.admit();
    await clock.advance(1500); // Less than a lease: the release comes, and no takeover.
    expect(preferred.elector.state.name).toBe('leading');
  });

describe('the guardian of a process that dies right after a term was handed over to it', () => {
  it('gives that term back', async () => {
    const { clock, server, start, startLeader, open } = await setUp();
    const leader = await startLeader('leader');
    // A candidate whose process is dead: its place and its session are there, and nothing acts for it.
    const session = await open(TIMES);
    const id = candidateUuid(randomUUID(), 0, session.leaseMs);
    const data = serializeCandidate('next', undefined);
    await clock.advanceUntil(joinWithHeartbeats(session, PATH, { id, data, parse: parseEntry }));
    const last = await start('last');
    await clock.advance(10_000);
    // What `GuardedProcess` knows of it: the session, and an election in which it waits.
    const dead = { ...openSessionOf(session), waits: [PATH] };
    const at = clock.now();
    let tookMs: number | undefined;
    last.elector.once('elected', () => {
      tookMs = clock.now() - at;
    });
    void leader.elector.resign();
    await clock.advance(20);
    expect(server.data(PATH)?.toString()).toContain(id);
    const outcome = await clock.advanceUntil(
      cleanUpSession(connectSource(server.connectString), dead, {
        environment: clock.environment,
        logger: SILENT,
      }),
    );
    await clock.advance(2 * DELAY_MS);
    expect(outcome).toEqual({ terms: 1, members: 0, clean: true });
    expect(tookMs).toBeLessThan(1000);
  });
});

function vacant(record: Buffer): Buffer {
  const { term } = JSON.parse(record.toString()) as { term: number };
  return Buffer.from(JSON.stringify({ format: 1, state: 'vacant', term: term + 1 }));
}

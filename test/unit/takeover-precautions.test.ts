import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { takeoverParts } from '../../src/election/term/claim-and-release-writes.js';
import { BadVersionError, ConnectionLossError, NodeLostError } from '../../src/errors.js';
import { takeoverDelayMs } from '../../src/lease/failure-detector.js';
import { NodeWithHeartbeat } from '../../src/lease/node-with-heartbeat.js';
import { heartbeatPathOf } from '../../src/queue/names-and-order.js';
import { startElection } from '../support/conclave/elections-in-test-time.js';
import { startWithTestClock } from '../support/servers/embedded-with-test-clock.js';

const PATH = '/election';
const OWN = '/own';
const TIMES = { sessionTimeoutMs: 6000, leaseMs: 2000 };
const BEAT_MS = TIMES.leaseMs / 4;
const DELAY_MS = takeoverDelayMs(TIMES.leaseMs);

const HEARTBEAT_PATH = `${OWN}-heartbeat`;

/** Makes the two nodes of a candidate. No heartbeat has been sent yet. */
async function setUpNode() {
  const { clock, server, open } = await startWithTestClock();
  const session = await open(TIMES);
  for (const path of [OWN, HEARTBEAT_PATH]) await session.create(path, { mode: 'ephemeral' });
  const node = NodeWithHeartbeat.of(session, OWN, HEARTBEAT_PATH);
  const version = async () => (await clock.advanceUntil(session.exists(HEARTBEAT_PATH)))?.version;
  return { clock, server, session, node, version };
}

describe('the lease of a candidate with a heartbeat node', () => {
  it('begins with a heartbeat and with a proof, and each raises the version', async () => {
    const { clock, node, version } = await setUpNode();
    expect([node.isHeld(), await version()]).toEqual([false, 0]);
    node.keepAlive();
    await clock.advanceUntil(() => node.isHeld());
    expect([node.remainingMs(), await version()]).toEqual([TIMES.leaseMs, 1]);
    await clock.advance(BEAT_MS - 10);
    await clock.advanceUntil(node.renew());
    expect([node.remainingMs(), await version()]).toEqual([TIMES.leaseMs, 2]);
  });

  it('does not get longer by a guarded transaction, which no other session sees', async () => {
    const { clock, node } = await setUpNode();
    node.keepAlive();
    await clock.advanceUntil(() => node.isHeld());
    await clock.advance(BEAT_MS - 10);
    await clock.advanceUntil(node.commit([{ kind: 'create', path: '/other', mode: 'persistent' }]));
    expect(node.remainingMs()).toBe(TIMES.leaseMs - (BEAT_MS - 10));
  });

  it('begins with a look after a lost reply, which raises the version again', async () => {
    const { clock, server, session, node, version } = await setUpNode();
    const lost = server.swallowReply('multi');
    const claiming = node.beginTerm([{ kind: 'check', path: '/' }], { path: '/', version: 0 });
    await expect(clock.advanceUntil(claiming)).rejects.toBeInstanceOf(ConnectionLossError);
    await clock.advanceUntil(session.exists(OWN)); // It has a connection again.
    expect([lost.hits, node.isHeld(), await version()]).toEqual([1, false, 1]);
    await clock.advanceUntil(node.renew());
    expect([node.isHeld(), await version()]).toEqual([true, 2]);
  });

  it('is not looked for again and again when the node is gone that was released', async () => {
    const { clock, session, node } = await setUpNode();
    await clock.advanceUntil(node.renew());
    node.release();
    await clock.advanceUntil(session.remove(OWN));
    await expect(clock.advanceUntil(node.renew())).rejects.toBeInstanceOf(NodeLostError);
  });

  it('ends with its heartbeat node: its heartbeats neither make that again nor go on without', async () => {
    const { clock, server, session, node } = await setUpNode();
    node.keepAlive();
    await clock.advanceUntil(() => node.isHeld());
    await clock.advanceUntil(session.remove(HEARTBEAT_PATH));
    await clock.advance(2 * BEAT_MS);
    expect(node.signal.reason).toBeInstanceOf(NodeLostError);
    await clock.advance(TIMES.leaseMs);
    expect([node.isHeld(), server.paths('/')]).toEqual([false, expect.not.arrayContaining([HEARTBEAT_PATH])]);
  });

  it('does not begin with a claim that is refused because its heartbeat node is gone', async () => {
    const { clock, server, session, node } = await setUpNode();
    await clock.advanceUntil(session.remove(HEARTBEAT_PATH));
    const record = { path: '/claimed', version: 0 };
    const claiming = node.beginTerm([{ kind: 'create', path: '/claimed', mode: 'persistent' }], record);
    await expect(clock.advanceUntil(claiming)).rejects.toBeInstanceOf(NodeLostError);
    expect([node.isHeld(), server.paths('/claimed')]).toEqual([false, []]);
  });
});

/** A leader, and two candidates behind it. */
async function setUpQueue() {
  const election = await startElection(PATH, TIMES);
  const leader = await election.lead('leader');
  const [middle, candidate] = [await election.join('middle'), await election.join('last')];
  return { ...election, leader, middle, candidate, operator: await election.open(TIMES) };
}

describe('the record that a candidate reads before it knows that its turn has come', () => {
  it('is read anew when a lease has been waited out: one that was mended meanwhile is waited for and claimed', async () => {
    const { clock, server, atServer, leader, middle, operator, candidate } = await setUpQueue();
    const record = server.data(PATH) as Buffer;
    await clock.advanceUntil(operator.setData(PATH, Buffer.from('unreadable')));
    for (const each of [leader, middle]) atServer(each).expire();
    await clock.advance(DELAY_MS - 10);
    await clock.advanceUntil(operator.setData(PATH, record));
    await clock.advance(DELAY_MS);
    expect(candidate.state.name).toBe('claiming');
    await clock.advance(20);
    expect(candidate.term?.number).toBe(2);
  });

  it('is heard of no more when the candidate stops meanwhile', async () => {
    const { clock, server, atServer, middle, candidate } = await setUpQueue();
    await clock.advance(2 * TIMES.leaseMs); // From now on the candidate looks at the leader's heartbeat node.
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const late = server.delay(100, { only: 'getData', path: PATH });
    atServer(middle).expire();
    await clock.advanceUntil(() => late.hits === 1);
    await clock.advanceUntil(candidate.stop());
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('what a claim by takeover deletes', () => {
  it('stays, and the claim is refused, if the leader has sent another heartbeat since its version was seen', async () => {
    const { clock, server, open, lead, nodeOf, pathOf } = await startElection(PATH, TIMES);
    const [leader, other] = [await lead('leader'), await open(TIMES)];
    await clock.advance(10_000);
    const [node, path] = [nodeOf(leader), pathOf(leader)];
    const heartbeat = await clock.advanceUntil(other.exists(heartbeatPathOf(path)));
    await clock.advance(BEAT_MS);
    const claiming = other.commit(takeoverParts(PATH, node, { version: heartbeat?.version as number }));
    await expect(clock.advanceUntil(claiming)).rejects.toBeInstanceOf(BadVersionError);
    expect(server.paths(PATH)).toContain(path);
    expect(leader.term?.isHeld()).toBe(true);
  });
});

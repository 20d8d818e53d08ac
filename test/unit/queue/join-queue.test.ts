import { Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { joinQueue } from '../../../src/queue/join-queue.js';
import { untilTurn } from '../../../src/queue/turn-wait.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';

const CREATE = 1;
const GET_CHILDREN = 8;

/** Opens a session that knows that the queue's path exists. */
async function setUp() {
  const { clock, open } = await startWithTestClock();
  const session = await open();
  const before = await joinQueue(session, '/queue');
  await before.leave();
  const listChildren = vi.spyOn(session, 'listChildren');
  return { clock, session, listChildren };
}

/** The operations of the requests in a packet. */
function operationsIn(packet: Buffer): number[] {
  const operations: number[] = [];
  for (let at = 0; at < packet.length; at += 4 + packet.readInt32BE(at))
    operations.push(packet.readInt32BE(at + 8));
  return operations;
}

describe('a contender that joins a queue', () => {
  it('has its creation and its listing written in one packet before anything else is done', async () => {
    const { session } = await setUp();
    const write = vi.spyOn(Socket.prototype, 'write');
    onTestFinished(() => write.mockRestore());
    const joining = joinQueue(session, '/queue');
    expect(write.mock.calls.map(([packet]) => operationsIn(packet as Buffer))).toEqual([
      [CREATE, GET_CHILDREN],
    ]);
    await joining;
  });

  it('needs no other listing than that to see that it is first, and keeps it no longer', async () => {
    const { session, listChildren } = await setUp();
    const contender = await joinQueue(session, '/queue');
    await untilTurn(contender);
    expect(listChildren).toHaveBeenCalledTimes(1);
    await untilTurn(contender);
    expect(listChildren).toHaveBeenCalledTimes(2);
  });

  it('has no turn, though it is first, when its wait was cancelled before', async () => {
    const { session } = await setUp();
    const contender = await joinQueue(session, '/queue');
    const reason = new Error('enough');
    await expect(untilTurn(contender, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('has none either when its node is lost', async () => {
    const { session } = await setUp();
    const contender = await joinQueue(session, '/queue');
    const reason = new Error('gone');
    contender.node.lose(reason);
    await expect(untilTurn(contender)).rejects.toBe(reason);
  });
});

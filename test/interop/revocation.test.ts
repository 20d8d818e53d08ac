import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { LockTimeoutError } from '../../src/errors.js';
import { openSession } from '../support/conclave/sessions.js';
import { foreignClient, Queue, serve, shareForeignClients, type Turn } from './support/shared-queue.js';

shareForeignClients('Curator');

const LIMIT = { timeoutMs: 10_000 };

/** Asks for a lock with Curator's Revoker. */
async function askByCurator(queue: Queue, { node }: Turn): Promise<void> {
  await foreignClient('Curator').ask('revoke', randomUUID(), `${queue.path}/${node}`);
}

describe('asking for a lock that Conclave and Curator share', () => {
  it.each(['lock', 'read', 'write'] as const)(
    'reaches a holder of Curator that was made revocable and has it to %s, which releases',
    async (purpose) => {
      const queue = new Queue(await openSession());
      const alone = purpose === 'lock' ? 'lock' : 'write';
      const holder = await queue.join('Curator', { purpose, heeds: true });
      await holder.held;
      const heir = await queue.join('ours', { purpose: alone });
      const revoked = await queue.lock(alone).revoke(LIMIT);
      expect(revoked).toMatchObject({ node: holder.node, purpose });
      expect(await serve([heir])).toEqual([heir.node]);
    },
  );

  it.each(['lock', 'read', 'write'] as const)(
    "reaches a holder of Conclave's with onRevoke that has it to %s, by Curator's Revoker",
    async (purpose) => {
      const queue = new Queue(await openSession());
      const holder = await queue.join('ours', { purpose, heeds: true });
      await holder.held;
      const heir = await queue.join('Curator', { purpose: purpose === 'lock' ? 'lock' : 'write' });
      await askByCurator(queue, holder);
      expect(await serve([heir])).toEqual([heir.node]);
    },
  );

  it('counts for a waiter of either client as soon as it holds', async () => {
    const queue = new Queue(await openSession());
    const holder = await queue.join('ours');
    const theirs = await queue.join('Curator', { heeds: true });
    const ours = await queue.join('ours', { heeds: true });
    const heir = await queue.join('Curator');
    await askByCurator(queue, ours);
    const revoked = queue.lock('lock').revoke({ node: theirs.node, ...LIMIT });
    expect(await serve([holder])).toEqual([holder.node]);
    expect((await revoked)?.node).toBe(theirs.node);
    expect([await theirs.held, await ours.held]).toEqual([theirs.node, ours.node]);
    expect(await serve([heir])).toEqual([heir.node]);
  });

  it('changes nothing for holders that were not made revocable', async () => {
    const queue = new Queue(await openSession());
    const turns = [await queue.join('Curator'), await queue.join('ours'), await queue.join('Curator')];
    const [theirs, ours] = turns as [Turn, Turn];
    await theirs.held;
    await expect(queue.lock('lock').revoke({ timeoutMs: 200 })).rejects.toBeInstanceOf(LockTimeoutError);
    await askByCurator(queue, ours);
    expect(await queue.nodes()).toEqual(turns.map(({ node }) => node));
    expect(await serve(turns)).toEqual(turns.map(({ node }) => node));
  });
});
